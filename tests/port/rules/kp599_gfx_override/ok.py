import os

version = os.environ.get("HSA_OVERRIDE_GFX_VERSION")
print("HSA_OVERRIDE_GFX_VERSION is", version)
