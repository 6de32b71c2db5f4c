"""The number of each learner in their class, which stays when others leave."""

import sqlalchemy as sa
from alembic import op

revision = "4"
down_revision = "3"


def upgrade() -> None:
    op.add_column("classes", sa.Column("seats", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("learners", sa.Column("number", sa.Integer(), nullable=False, server_default="0"))
    op.execute(
        "UPDATE learners SET number = (SELECT count(*) FROM learners AS others "
        "WHERE others.class_id = learners.class_id AND others.id <= learners.id)"
    )
    op.execute("UPDATE classes SET seats = (SELECT count(*) FROM learners WHERE learners.class_id = classes.id)")
