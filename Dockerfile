# One image: the app by default, or the proxy before it. compose.yaml and deploy/kubernetes say who is which.
FROM python:3.11-slim-bookworm

RUN apt-get update -q \
    && apt-get install -qy --no-install-recommends make nginx \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /app

# The packages first: they change seldom, and the layer is kept.
COPY Makefile requirements.txt constraints.txt ./
RUN PIP_NO_CACHE_DIR=1 PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu make env

COPY . .
# The layer of the packages may be older than the files of this build; make would install them again, where nobody can.
RUN touch .venv/app.stamp && .venv/bin/python -m compileall -q -x '/\.venv/' .

# Neither root nor the owner of a file here: the only place to write is /tmp. Where a visitor comes from, the proxy says;
# nobody else can reach the app.
USER 10001:10001
ENV HOME=/tmp STREAMLIT_SERVER_ADDRESS=0.0.0.0 STREAMLIT_SERVER_HEADLESS=true FORWARDED_ALLOW_IPS=*

EXPOSE 8501
HEALTHCHECK --interval=10s --timeout=5s --start-period=90s --start-interval=2s --retries=3 \
    CMD [".venv/bin/python", "-m", "serving.health", "http://127.0.0.1:8501/ready"]
CMD ["make", "app"]
