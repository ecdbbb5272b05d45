"""The page Start: questions, and models to ask them about."""

import streamlit as st

from pages.own_data import leading, panel
from pages.shell import address, frame
from pages.start_page import models, own_model, own_tables, paper_results, questions

frame.guard()
leading.go_to_page()
address.bar("start")
with st.container(key="answer"):
    st.title("Emberpool", anchor=False)
    st.markdown(
        "**How much persistent memory, how fast a CXL link, which checkpoints: decide before you build the machine.** "
        "Emberpool trains a recommendation model with real gradients on a simulated machine of GPU, CXL link, persistent memory "
        "and log. It loses power whenever you choose, and it charts time, energy, cost and accuracy."
    )
    questions.draw_four_knobs()
question = questions.draw_questions()
if question is questions.PAPERS:
    st.markdown("**Which result?** Each card has the first number of a paper and Emberpool's; the page Evidence has all numbers.")
    paper_results.draw(question)
else:
    st.markdown("**About which model?**")
    models.draw(question)
    st.markdown("**Or your own model**")
    own_tables.draw(question, own_model.draw(question))
    panel.draw(question, "start")
