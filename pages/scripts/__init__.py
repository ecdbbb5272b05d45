"""The page scripts, one for each place, run from top to bottom by Streamlit."""
