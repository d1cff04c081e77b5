import os

os.environ["ROCR_VISIBLE_DEVICES"] = "2,3"
devices = os.environ.get("HIP_VISIBLE_DEVICES", "")
