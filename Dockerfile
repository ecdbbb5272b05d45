# The explorer in a container, which prints the address with its token:
# docker build -t emberpool . && docker run -p 8501:8501 -v emberpool:/home/emberpool/app/.emberpool emberpool
FROM python:3.11-slim
# The folder is made here: one that WORKDIR makes is root's under the classic builder, whoever USER is.
RUN useradd --create-home emberpool && mkdir -p /home/emberpool/app/.emberpool && chown -R emberpool /home/emberpool/app
USER emberpool
WORKDIR /home/emberpool/app
COPY --chown=emberpool locked/requirements.txt ./
RUN python -m venv .venv && .venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.txt
COPY --chown=emberpool app.py explorer.py LICENSE CITATION.cff pyproject.toml ./
COPY --chown=emberpool engine engine
COPY --chown=emberpool pages pages
COPY --chown=emberpool presets presets
COPY --chown=emberpool docs/glossary.md docs/glossary.md
COPY --chown=emberpool scripts scripts
COPY --chown=emberpool .streamlit .streamlit
RUN .venv/bin/python scripts/compile.py
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD [".venv/bin/python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
# Other arguments: --allow NAME to be reached under a name, --data PATH for a mounted file or folder, --parts DIR, --presets DIR; EMBERPOOL_TOKEN fixes the token.
ENTRYPOINT [".venv/bin/python", "explorer.py", "--address", "0.0.0.0"]
