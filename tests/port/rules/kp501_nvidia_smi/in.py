import os
import subprocess
from subprocess import check_output


def report(index):
    subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv"], check=True)
    check_output("nvidia-smi -L", shell=True)
    os.system(f"nvidia-smi -i {index}")
    subprocess.check_output("/usr/bin/nvidia-smi --list-gpus".split())
    subprocess.Popen(["nsys", "profile", "python", "train.py"])


def links():
    _links()


def _links():
    return subprocess.run(["nvidia-smi", "topo", "-m"], check=True)
