"""Environment variables under which nothing that a worker loads phones home. No other setting of a worker."""

from collections.abc import Mapping
from types import MappingProxyType

# Not negotiable: set in every process that is started here.
TELEMETRY_OFF: Mapping[str, str] = MappingProxyType(
    {
        "DAGSTER_DISABLE_TELEMETRY": "1",
        "DO_NOT_TRACK": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",  # TRL and transformers report through the hub's client
        "RAY_USAGE_STATS_ENABLED": "0",
        "VLLM_NO_USAGE_STATS": "1",
        "WANDB_MODE": "disabled",
    }
)

# Defaults: whoever needs a model from a hub sets HF_HUB_OFFLINE=0 himself.
OFFLINE_BY_DEFAULT: Mapping[str, str] = MappingProxyType({"HF_HUB_OFFLINE": "1"})
