"""A class: a teacher, learners who join by a code, polls, and a store that keeps them for 30 days. No Streamlit.

`database.Database` is the store, `classes` and `polls` are what one does in it, `export` writes the results. Everything
that can go wrong is an `errors.ClassError`: one sentence for whoever sees the page. Importing this package imports
none of them, so that visitors without a class do not wait for SQLAlchemy.
"""
