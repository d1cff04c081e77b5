import os

os.environ["ROCR_VISIBLE_DEVICES"] = "2,3"
os.environ["HIP_VISIBLE_DEVICES"] = "2,3"
