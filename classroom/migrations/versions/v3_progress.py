"""What each learner has answered right in the lessons."""

import sqlalchemy as sa
from alembic import op

revision = "3"
down_revision = "2"


def upgrade() -> None:
    op.add_column("learners", sa.Column("progress", sa.JSON(), nullable=False, server_default="{}"))
