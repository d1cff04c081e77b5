"""h264_nvenc is one of NVIDIA's engines."""

import subprocess

subprocess.run(["ffmpeg", "-hwaccel", "vaapi", "-i", "in.mp4", "-c:v", "h264_vaapi", "out.mp4"])
device = "cuda"
