"""The pages themselves, a script a place, each run from top to bottom by Streamlit; all else stands below them."""
