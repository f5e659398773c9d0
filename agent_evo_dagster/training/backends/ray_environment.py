"""The Ray settings as variables of the processes of a run. No Ray is started here."""

import os
from collections.abc import Mapping

from agent_evo_dagster.errors import SettingsError
from agent_evo_dagster.training.backends.ray_settings import RaySettings


def ray_environment(settings: RaySettings, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Variables that a process needs to reach the cluster, and those that the run asks for.

    Raises:
        SettingsError: a certificate or the token is not there, or a variable of env_from is not set.
    """
    missing = [name for name in settings.env_from if name not in environ]
    if missing:
        raise SettingsError(
            f"ray.env_from names {', '.join(missing)}, which the worker's environment does not have."
        )
    return {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DISABLE_IMPORT_WARNING": "1",
        **_tls(settings),
        **_token(settings),
        **settings.env,
        **{name: environ[name] for name in settings.env_from},
    }


def _tls(settings: RaySettings) -> dict[str, str]:
    if settings.tls is None:
        return {}
    paths = {"ca": settings.tls.ca, "cert": settings.tls.cert, "key": settings.tls.key}
    for name, path in paths.items():
        if not path.is_file():
            raise SettingsError(f"ray.tls.{name} names {path}, which is no file.")
    return {
        "RAY_USE_TLS": "1",
        "RAY_TLS_CA_CERT": str(settings.tls.ca),
        "RAY_TLS_SERVER_CERT": str(settings.tls.cert),
        "RAY_TLS_SERVER_KEY": str(settings.tls.key),
    }


def _token(settings: RaySettings) -> dict[str, str]:
    if settings.token_file is None:
        return {}
    if not settings.token_file.is_file() or not settings.token_file.stat().st_size:
        raise SettingsError(f"ray.token_file names {settings.token_file}, which holds no token.")
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(settings.token_file)}
