"""pkg_resources for build descriptions that import it: setuptools 82 no longer has it. Used by the worker only.

pip would fetch an older setuptools for such a project. Here only what build descriptions ask of it is answered.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
import types


def provide_pkg_resources() -> None:
    """Put a stand-in into place where the real one is not installed."""
    if importlib.util.find_spec("pkg_resources") is not None:
        return
    import packaging.version

    module = types.ModuleType("pkg_resources")
    module.packaging = packaging  # type: ignore[attr-defined]
    module.parse_version = packaging.version.parse  # type: ignore[attr-defined]
    module.get_distribution = importlib.metadata.distribution  # type: ignore[attr-defined]
    module.require = lambda *names: [importlib.metadata.distribution(name) for name in names]  # type: ignore[attr-defined]
    module.DistributionNotFound = importlib.metadata.PackageNotFoundError  # type: ignore[attr-defined]
    module.VersionConflict = type("VersionConflict", (Exception,), {})  # type: ignore[attr-defined]
    sys.modules["pkg_resources"] = module
