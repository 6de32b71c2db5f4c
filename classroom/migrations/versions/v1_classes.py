"""Classes, their learners, questions and answers."""

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "classes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("code", sa.String(6), nullable=False),
        sa.Column("secret_hash", sa.String(64), nullable=False),
        sa.Column("title", sa.String(80), nullable=False),
        sa.Column("opened", sa.BigInteger(), nullable=False),
        sa.Column("locked", sa.Boolean(), nullable=False),
        sa.Column("place", sa.JSON(), nullable=False),
        sa.Column("moves", sa.Integer(), nullable=False),
        sa.Column("due_since", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_classes"),
        sa.UniqueConstraint("code", name="uq_classes_code"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_classes_opened", "classes", ["opened"])
    op.create_table(
        "learners",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("class_id", sa.Integer(), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("nickname", sa.String(40), nullable=False),
        sa.Column("joined", sa.BigInteger(), nullable=False),
        sa.Column("seen", sa.BigInteger(), nullable=False),
        sa.Column("page", sa.String(60), nullable=False),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_learners"),
        sa.ForeignKeyConstraint(["class_id"], ["classes.id"], name="fk_learners_class_id", ondelete="CASCADE"),
        sa.UniqueConstraint("class_id", "token_hash", name="uq_learners_class_id_token_hash"),
        sqlite_autoincrement=True,
    )
    _questions()


def _questions() -> None:
    op.create_table(
        "polls",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("class_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("lesson", sa.String(60), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("right", sa.JSON(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("several", sa.Boolean(), nullable=False),
        sa.Column("closed", sa.Boolean(), nullable=False),
        sa.Column("revealed", sa.Boolean(), nullable=False),
        sa.Column("asked", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_polls"),
        sa.ForeignKeyConstraint(["class_id"], ["classes.id"], name="fk_polls_class_id", ondelete="CASCADE"),
        sa.UniqueConstraint("class_id", "number", name="uq_polls_class_id_number"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "answers",
        sa.Column("poll_id", sa.Integer(), nullable=False),
        sa.Column("learner_id", sa.Integer(), nullable=False),
        sa.Column("chosen", sa.String(40), nullable=False),
        sa.Column("given", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("poll_id", "learner_id", name="pk_answers"),
        sa.ForeignKeyConstraint(["poll_id"], ["polls.id"], name="fk_answers_poll_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["learner_id"], ["learners.id"], name="fk_answers_learner_id", ondelete="CASCADE"),
    )
    op.create_index("ix_answers_learner_id", "answers", ["learner_id"])
