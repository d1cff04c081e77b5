"""diff-gaussian-rasterization has no tests of its own: its public function, on cases whose answer is known."""

import math

import pytest
import torch
from diff_gaussian_rasterization import GaussianRasterizationSettings, GaussianRasterizer

SIZE, HALF_ANGLE = 32, math.radians(30)


def settings(background):
    view = torch.eye(4, device="cuda")
    near, far, tangent = 0.01, 100.0, math.tan(HALF_ANGLE)
    projection = torch.zeros(4, 4)
    projection[0, 0] = projection[1, 1] = 1 / tangent
    projection[3, 2], projection[2, 2], projection[2, 3] = 1.0, far / (far - near), -far * near / (far - near)
    whole = (view.cpu() @ projection.T).cuda()
    return GaussianRasterizationSettings(
        SIZE, SIZE, tangent, tangent, background, 1.0, view, whole, 0, torch.zeros(3, device="cuda"), False, False
    )


def render(means, colors, opacities, scales, background):
    count = means.shape[0]
    rotations = torch.tensor([[1.0, 0, 0, 0]], device="cuda").repeat(count, 1)
    rasterizer = GaussianRasterizer(settings(background))
    image, _ = rasterizer(
        means3D=means, means2D=torch.zeros_like(means, requires_grad=True), opacities=opacities,
        colors_precomp=colors, scales=scales, rotations=rotations,
    )  # fmt: skip
    return image


def scene(count=6):
    torch.manual_seed(0)
    means = torch.rand(count, 3, device="cuda") - 0.5
    means[:, 2] += 3
    colors, opacities = torch.rand(count, 3, device="cuda"), torch.rand(count, 1, device="cuda") * 0.8
    return means, colors, opacities, torch.full((count, 3), 0.1, device="cuda")


def test_nothing_in_sight_is_the_background():
    means, colors, opacities, scales = scene(2)
    means[:, 2] = -3
    background = torch.tensor([0.2, 0.4, 0.6], device="cuda")
    image = render(means, colors, opacities, scales, background)
    torch.testing.assert_close(image, background[:, None, None].expand(3, SIZE, SIZE))


def test_the_middle_of_one_large_gaussian():
    one = torch.tensor([[0.0, 0.0, 2.0]], device="cuda")
    color, opacity = torch.tensor([[1.0, 0.5, 0.25]], device="cuda"), torch.tensor([[0.5]], device="cuda")
    image = render(one, color, opacity, torch.full((1, 3), 2.0, device="cuda"), torch.zeros(3, device="cuda"))
    torch.testing.assert_close(image[:, SIZE // 2, SIZE // 2], color[0] * 0.5, atol=5e-3, rtol=1e-2)


def test_the_order_of_the_gaussians_does_not_matter():
    means, colors, opacities, scales = scene()
    background = torch.zeros(3, device="cuda")
    order = torch.tensor([3, 1, 5, 0, 2, 4], device="cuda")
    first = render(means, colors, opacities, scales, background)
    second = render(means[order], colors[order], opacities[order], scales[order], background)
    torch.testing.assert_close(first, second)
    assert first.max() > 0.05


@pytest.mark.parametrize("which", ["colors", "opacities", "means"])
def test_gradients_agree_with_differences(which):
    means, colors, opacities, scales = scene()
    inputs = {"means": means, "colors": colors, "opacities": opacities}
    wanted = inputs[which].requires_grad_(True)
    background = torch.zeros(3, device="cuda")

    def loss():
        return render(inputs["means"], inputs["colors"], inputs["opacities"], scales, background).square().sum()

    loss().backward()
    step = 1e-2 if which != "means" else 2e-3
    with torch.no_grad():
        wanted[1, 0] += step
        above = loss()
        wanted[1, 0] -= 2 * step
        below = loss()
    torch.testing.assert_close(wanted.grad[1, 0], (above - below) / (2 * step), atol=2e-2, rtol=5e-2)
