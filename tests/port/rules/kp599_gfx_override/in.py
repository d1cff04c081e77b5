import os

os.environ["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0"
