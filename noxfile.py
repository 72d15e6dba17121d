"""What a change must pass, part by part: `nox`, or one part, `nox -s tests`.

`.ci/run` calls these in one environment, after README's first command.
"""

import nox

nox.options.default_venv_backend = "venv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["lint", "docs", "tests", "oldest"]


def _needs(session: nox.Session, extras: str) -> None:
    """Install this folder with extras, unless the environment is the caller's own."""
    if not isinstance(session.virtualenv, nox.virtualenv.PassthroughEnv):
        session.install("-e", f".[{extras}]")


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, the order of imports, and types."""
    _needs(session, "test,lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")
    session.run("python", "docs/house.py", "--check")
    session.run("python", "docs/licences.py", "--check")
    session.run("mypy")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site, without a warning, into a folder of its own."""
    _needs(session, "docs,sass,testing,viz")
    folder = session.create_tmp()
    session.run("python", "-m", "mkdocs", "build", "--strict", "--site-dir", f"{folder}/site")


@nox.session
def tests(session: nox.Session) -> None:
    """Run README's second command; what follows `--` goes to pytest."""
    _needs(session, "test")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session(venv_backend="none")
def oldest(session: nox.Session) -> None:
    """Try the oldest dependencies allowed; .ci/oldest makes their environment."""
    session.run(".ci/oldest", external=True)


@nox.session(venv_backend="none")
def newest(session: nox.Session) -> None:
    """Try the newest dependencies on the newest Python that is here; .ci/newest makes theirs."""
    session.run(".ci/newest", *session.posargs, external=True)


@nox.session
def mutation(session: nox.Session) -> None:
    """See whether the tests notice a changed law: hours; what follows `--` chooses and samples."""
    _needs(session, "test,trust")
    session.run("python", "-m", "tests.mutation", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Feed every reader what nobody meant: a day; what follows `--` chooses and counts."""
    _needs(session, "test")
    session.run("python", "-m", "tests.fuzz", *session.posargs)


@nox.session
def supply(session: nox.Session) -> None:
    """Build the wheel twice and compare, look for stray files, and list what it brings."""
    _needs(session, "trust")
    session.run(".ci/supply", *session.posargs, external=True)
