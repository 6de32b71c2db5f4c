"""Run by alembic: the migrations go through the connection and the transaction that `classroom.database` holds."""

from alembic import context

# SQLite, too, can take back what changed a table; alembic must only be told.
context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
