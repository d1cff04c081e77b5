import torch

IMAGE_SIZE = 448
SIDES = [224, 336,
         448]


def scale_of(x):
    return x.abs().amax() / torch.finfo(torch.float8_e4m3fn).max


def patches(image):
    return image.reshape(448, 448)


E4M3 = [(-448.0, "1", "1111", "110", "largest_normal_neg"), (448.0, "0", "1111", "110", "largest_normal")]
SAMPLES = [-448.0, -127.5, 0.0, 127.5, 448.0]
