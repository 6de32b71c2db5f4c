"""The image, the compose file and the manifests, checked without an engine: they fit the schemas, and the app."""

import importlib.resources
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from serving import __main__ as command
from serving.app_process import answers
from tests.ports import free_port
from tests.whole.test_commands import FOLDERS

ROOT = Path(__file__).parents[2]
MANIFESTS = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
IMAGE_USER = 10001
Resource = dict[str, Any]


def resources(*kinds: str) -> list[Resource]:
    found = [one for path in MANIFESTS for one in yaml.safe_load_all(path.read_text(encoding="utf-8"))]
    return [one for one in found if not kinds or one["kind"] in kinds]


def named(kind: str, name: str) -> Resource:
    return next(one for one in resources(kind) if one["metadata"]["name"] == name)


def pods() -> list[Resource]:
    return [one["spec"]["template"]["spec"] for one in resources("Deployment", "StatefulSet")]


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, lines joined, comments left out."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines if line.strip()]


@pytest.mark.parametrize("version", ["1.30", "1.37"])
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_manifests_fit_the_schemas(path: Path, version: str) -> None:
    for one in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        kubernetes_validate.validate(one, version, strict=True)


def test_a_manifest_that_does_not_fit_is_seen() -> None:
    wrong = named("Deployment", "walkthrough")
    wrong["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, "1.37", strict=True)


def test_the_compose_file_fits_its_schema() -> None:
    schemas = importlib.resources.files("check_jsonschema") / "builtin_schemas" / "vendor"
    schema = json.loads((schemas / "compose-spec.json").read_text(encoding="utf-8"))
    jsonschema.validate(COMPOSE, schema)


def test_no_pod_is_root_or_writes_where_it_should_not_and_each_says_how_it_is() -> None:
    assert len(pods()) == 3
    for pod in pods():
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not pod["automountServiceAccountToken"]
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert {"readinessProbe", "livenessProbe"} <= container.keys()
            assert "memory" in container["resources"]["limits"]
            assert "/tmp" in [mount["mountPath"] for mount in container["volumeMounts"]]
            known = {volume["name"] for volume in pod["volumes"]} | {"classes"}  # which is claimed
            assert {mount["name"] for mount in container["volumeMounts"]} <= known


def test_every_name_leads_somewhere() -> None:
    sets = resources("Deployment", "StatefulSet")
    for one in sets:
        assert one["spec"]["selector"]["matchLabels"] == one["spec"]["template"]["metadata"]["labels"]
    for one in resources("Service"):
        pod = next(each for each in sets if each["spec"]["template"]["metadata"]["labels"] == one["spec"]["selector"])
        ports = {p["name"] for c in pod["spec"]["template"]["spec"]["containers"] for p in c["ports"]}
        assert {port["targetPort"] for port in one["spec"]["ports"]} <= ports
    for rule in named("Ingress", "walkthrough")["spec"]["rules"]:
        for path in rule["http"]["paths"]:
            service = named("Service", path["backend"]["service"]["name"])
            assert path["backend"]["service"]["port"]["name"] in {port["name"] for port in service["spec"]["ports"]}


def served_by(words: list[str]) -> Any:
    """What `make serve` with these variables asks of the proxy."""
    assert words[:2] == ["make", "serve"]
    said = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", "--old-file=.venv/app.stamp", *words[1:]],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")},  # of `make test` itself
        capture_output=True,
        text=True,
        check=True,
    )
    line = said.stdout.replace("\\\n", " ").strip().splitlines()[-1]
    return command.arguments(shlex.split(line.partition(" -m serving ")[2]))


def test_visitors_stay_with_one_pod_because_the_proxy_knows_each() -> None:
    (proxy,) = named("Deployment", "walkthrough-proxy")["spec"]["template"]["spec"]["containers"]
    chosen = served_by(proxy["command"])
    name, _, port = chosen.apps[0].partition(":")
    service = named("Service", name)
    assert service["spec"]["clusterIP"] == "None"  # a name for all pods, not one address before them
    assert service["spec"]["ports"][0]["port"] == int(port)
    assert proxy["ports"][0]["containerPort"] == chosen.port
    assert chosen.trust


def test_in_compose_only_the_proxy_is_open_and_the_rest_cannot_reach_the_internet() -> None:
    services = COMPOSE["services"]
    assert [name for name, one in services.items() if "ports" in one] == ["proxy"]
    assert COMPOSE["networks"]["inside"]["internal"]
    for name, one in services.items():
        assert one["read_only"], name
        assert one["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in one["security_opt"], name
        if name != "proxy":
            assert one["networks"] == ["inside"], name
        for needed, how in one.get("depends_on", {}).items():
            assert how["condition"] == "service_healthy", (name, needed)  # one that has begun answers nobody yet
    chosen = served_by(services["proxy"]["command"])
    assert chosen.apps == ["app:8501"]
    assert services["proxy"]["ports"][0].endswith(f":{chosen.port}")
    assert services["app"]["command"] == ["make", "app"]


def test_the_image_is_built_as_images_should_be() -> None:
    steps = instructions()
    assert [name for name, _ in steps].count("FROM") == 1
    base = dict(steps)["FROM"]
    assert re.fullmatch(r"python:3\.\d+-slim-[a-z]+", base)  # a version, and a small one
    user, _, group = dict(steps)["USER"].partition(":")
    assert int(user) == int(group) == IMAGE_USER
    assert [name for name, _ in steps].index("USER") > max(i for i, (name, _) in enumerate(steps) if name == "RUN")
    for name, rest in steps:
        assert name != "ADD"
        if name in ("CMD", "ENTRYPOINT"):
            assert json.loads(rest)  # no shell between a signal and the process
        if "apt-get install" in rest:
            assert "--no-install-recommends" in rest
            assert rest.index("apt-get update") < rest.index("apt-get install") < rest.index("/var/lib/apt/lists")
    assert "HEALTHCHECK" in dict(steps)
    assert dict(steps)["CMD"] == '["make", "app"]'
    # The proxy is another machine: it reaches the app, and the app believes what it says of where a visitor comes from.
    assert {"STREAMLIT_SERVER_ADDRESS=0.0.0.0", "FORWARDED_ALLOW_IPS=*"} <= {*dict(steps)["ENV"].split()}
    for pod in pods():
        assert pod["securityContext"]["runAsUser"] in (IMAGE_USER, 70)  # 70 is PostgreSQL's


def test_nothing_is_installed_where_the_image_runs(tmp_path: Path) -> None:
    """The layer that holds the packages is kept from build to build, and the files copied over it may be newer."""
    venv, old = tmp_path / ".venv", time.time() - 1000
    venv.mkdir()
    for name in ("Makefile", "requirements.txt", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("made.stamp", "app.stamp"):
        (venv / name).touch()
        os.utime(venv / name, (old, old))

    def is_there() -> bool:
        return subprocess.run(["make", "--question", "env"], cwd=tmp_path, timeout=60).returncode == 0

    assert not is_there()
    last = [rest for name, rest in instructions() if name == "RUN"][-1]
    subprocess.run(last.partition("&&")[0], shell=True, cwd=tmp_path, check=True, timeout=60)
    assert is_there()


def kept() -> set[str]:
    """What of the project goes into the image."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    return {line[1:] for line in lines if line.startswith("!")}


def test_the_image_has_what_the_app_needs_and_nothing_else() -> None:
    assert kept() == {"Makefile", "requirements.txt", "constraints.txt", "app.py", ".streamlit", *FOLDERS}


def test_a_container_knows_whether_it_is_well() -> None:
    def well(url: str) -> bool:
        return subprocess.run([sys.executable, "-m", "serving.health", url], cwd=ROOT, timeout=100).returncode == 0

    with HTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=ROOT)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        assert well(f"{url}/README.md")
        assert not well(f"{url}/no-such-page")
        server.shutdown()
    assert not well(url)
    asked = [one["healthcheck"]["test"] for one in COMPOSE["services"].values() if "healthcheck" in one]
    assert any("serving.health" in one for one in asked)


def test_visitors_come_when_the_first_page_is_made_and_who_is_busy_is_not_taken_for_dead() -> None:
    asked = {name: str(one["healthcheck"]["test"]) for name, one in COMPOSE["services"].items() if "healthcheck" in one}
    asked["image"] = dict(instructions())["HEALTHCHECK"]  # the app's, too
    assert asked.keys() == {"image", "proxy", "database"}
    assert "pg_isready" in asked.pop("database")
    assert all(re.search(r"serving\.health.*http://127\.0\.0\.1:(8501|8080)/ready\b", one) for one in asked.values())
    patience = {}
    for pod in pods():
        (container,) = pod["containers"]
        begins, comes = (container.get(kind) for kind in ("startupProbe", "readinessProbe"))
        if container["name"] == "postgres":
            assert "pg_isready" in str(comes)
        else:
            assert comes["httpGet"]["path"] == "/ready"
        if container["name"] == "app":  # it takes long to start
            assert begins["httpGet"]["path"] == "/ready"
        probe = container["livenessProbe"]
        assert "/ready" not in str(probe)  # whoever waits for another lives all the same
        patience[container["name"]] = probe["periodSeconds"] * probe["failureThreshold"]
    assert patience == {"app": 60, "proxy": 30, "postgres": 60}


def test_in_the_cluster_the_app_is_reached_by_the_proxy_and_reaches_its_database_alone() -> None:
    rules = named("NetworkPolicy", "walkthrough")["spec"]
    app, proxy = (named("Deployment", name)["spec"]["template"] for name in ("walkthrough", "walkthrough-proxy"))
    assert rules["podSelector"]["matchLabels"] == app["metadata"]["labels"]
    assert sorted(rules["policyTypes"]) == ["Egress", "Ingress"]  # what is not named here is open
    ((come,), (go,)) = rules["ingress"], rules["egress"]
    assert come["from"] == [{"podSelector": {"matchLabels": proxy["metadata"]["labels"]}}]
    assert [one["port"] for one in come["ports"]] == [
        one["containerPort"] for one in app["spec"]["containers"][0]["ports"]
    ]
    database = named("Service", "walkthrough-database")["spec"]["ports"][0]["port"]
    assert {(one["port"], one["protocol"]) for one in go["ports"]} == {(53, "UDP"), (53, "TCP"), (database, "TCP")}


@pytest.fixture
def image() -> Iterator[Path]:
    """The files of the image, none of which its user may change, beside a place where they may write."""
    whole = Path(tempfile.mkdtemp(prefix="image-"))
    place, scratch = whole / "app", whole / "tmp"
    for name in sorted(kept()):
        source, to = ROOT / name, place / name
        to.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, to, ignore=shutil.ignore_patterns("__pycache__", "images"))
        else:
            shutil.copy2(source, to)
    scratch.mkdir()
    whole.chmod(0o755)
    scratch.chmod(0o777)
    for path in (place, *place.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield place
    for path in (place, *place.rglob("*")):
        path.chmod(0o755)
    shutil.rmtree(whole)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_app_runs_where_it_cannot_write_and_without_roots_rights(image: Path) -> None:
    port, scratch = free_port(), image.parent / "tmp"
    env = {"PATH": os.environ["PATH"], "HOME": str(scratch), "TMPDIR": str(scratch), "OMP_NUM_THREADS": "1"}
    options = ("--server.headless=true", "--server.address=127.0.0.1", f"--server.port={port}")
    # Who is root here keeps the name, which Python may need to be found, but none of root's rights.
    powerless = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []
    assert subprocess.run([*powerless, "touch", str(image / "new")], stderr=subprocess.DEVNULL).returncode != 0
    with (scratch / "log").open("w+") as log:
        process = subprocess.Popen(
            [*powerless, sys.executable, "-m", "streamlit", "run", "app.py", *options],
            cwd=image,
            env=env,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            end = time.monotonic() + 300
            while not answers(f"http://127.0.0.1:{port}/ready"):
                log.seek(0)
                assert process.poll() is None, log.read()
                assert time.monotonic() < end, log.read()
                time.sleep(0.2)
            log.seek(0)
            assert "Traceback" not in log.read()
        finally:
            process.terminate()
            process.wait(60)
    assert not list(image.rglob("__pycache__"))
