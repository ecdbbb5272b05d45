"""What do you want to know?"""

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
        "Emberpool trains a recommendation model row by row, with real gradients, on a simulated machine of GPU, CXL link, "
        "persistent memory and log, loses power when you say so, and charts time, energy, cost and accuracy."
    )
question = questions.draw_questions()
if question is questions.PAPERS:
    st.markdown("**Which result?** The first number of each paper beside ours; Evidence has all of them.")
    paper_results.draw(question)
else:
    st.markdown("**About which model?**")
    models.draw(question)
    st.markdown("**Or your own model**")
    own_tables.draw(question, own_model.draw(question))
    panel.draw(question, "start")
