import subprocess

subprocess.run(["ffmpeg", "-hwaccel", "cuda", "-i", "in.mp4", "-c:v", "h264_nvenc", "out.mp4"])
subprocess.run("ffmpeg -hwaccel nvdec -i in.mp4 out.mp4", shell=True)
decoder = "hevc_cuvid"
