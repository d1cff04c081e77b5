"""Texture and surface objects, references and arrays: what HIP takes, what it refuses, and the descriptors it makes."""

from __future__ import annotations

import json

import pytest

from tests.emulate.conformance.image_model import Picture, Sampler
from tests.emulate.runtime.conftest import TARGETS, Run

WITH_IMAGES = ("mi250x", "rx6900xt", "rx9070xt")
#: Structures of HIP's API that the scripts fill in, and calls that they all make.
SHARED = """
class Desc(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("x", "y", "z", "w", "kind")]
class Linear(ctypes.Structure):
    _fields_ = [("pointer", ctypes.c_void_p), ("desc", Desc), ("bytes", ctypes.c_size_t)]
class Rows(ctypes.Structure):
    _fields_ = [("pointer", ctypes.c_void_p), ("desc", Desc), ("width", ctypes.c_size_t), ("height", ctypes.c_size_t),
                ("pitch", ctypes.c_size_t)]
class Any_(ctypes.Union):
    _fields_ = [("array", ctypes.c_void_p), ("linear", Linear), ("rows", Rows)]
class Resource(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("res", Any_)]
class Texture(ctypes.Structure):
    _fields_ = [("address", ctypes.c_int * 3), ("filter", ctypes.c_int), ("read", ctypes.c_int), ("srgb", ctypes.c_int),
                ("border", ctypes.c_float * 4), ("normalized", ctypes.c_int), ("anisotropy", ctypes.c_uint),
                ("mip_filter", ctypes.c_int), ("bias", ctypes.c_float), ("least", ctypes.c_float),
                ("most", ctypes.c_float)]
class Extent(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("width", "height", "depth")]
class View(ctypes.Structure):
    _fields_ = [("format", ctypes.c_int), *Extent._fields_, ("levels", ctypes.c_uint * 2),
                ("layers", ctypes.c_uint * 2)]
FLOAT, BYTES = Desc(32, 0, 0, 0, 2), Desc(8, 8, 8, 8, 1)
def array(desc, extent, flags=0):
    made = ctypes.c_void_p()
    code = call("hipMalloc3DArray", ctypes.byref(made), ctypes.byref(desc), Extent(*extent), flags)
    return made if code == 0 else code
def of_array(made):
    found = Resource(0)
    found.res.array = made
    return found
def texture(resource, wanted=None, view=None):
    made = ctypes.c_void_p()
    code = call("hipCreateTextureObject", ctypes.byref(made), ctypes.byref(resource), ctypes.byref(wanted or Texture()),
                ctypes.byref(view) if view else None)
    return made if code == 0 else code
def words_of(made, count):
    return (ctypes.c_uint32 * count).from_address(made.value)[:]
def linear(pointer, desc, size):
    found = Resource(2)
    found.res.linear = Linear(pointer, desc, size)
    return found
def rows(pointer, desc, width, height, pitch):
    found = Resource(3)
    found.res.rows = Rows(pointer, desc, width, height, pitch)
    return found
"""


@pytest.mark.parametrize("gpu", WITH_IMAGES)
def test_descriptors_are_as_the_manuals_say(run: Run, gpu: str) -> None:
    ran = run(
        SHARED
        + """
import json
made = {}
def keep(name, desc, extent, flags, wanted):
    handle = array(desc, extent, flags)
    made[name] = [ctypes.c_uint64.from_address(handle.value).value, words_of(texture(of_array(handle), wanted), 20)]
keep("1D", FLOAT, (11, 0, 0), 0, Texture(address=(1, 1, 1)))
keep("2D", BYTES, (11, 7, 0), 0, Texture(address=(0, 0, 0), filter=1, read=1, normalized=1))
keep("3D", Desc(16, 16, 0, 0, 0), (5, 4, 3), 0, Texture(address=(3, 0, 0)))
keep("1D_ARRAY", Desc(16, 0, 0, 0, 2), (300, 0, 6), 1, Texture(address=(2, 0, 0), normalized=1))
keep("2D_ARRAY", Desc(32, 32, 32, 32, 1), (33, 9, 4), 1, Texture(address=(2, 0, 0)))
print(json.dumps(made))
""",
        gpu,
    )
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    generation = {"mi250x": 9, "rx6900xt": 10, "rx9070xt": 12}[gpu]
    one, two, four = (4, 0, 0, 1), (4, 5, 0, 1), (4, 5, 6, 7)
    wanted = {
        "1D": (Picture(generation, "1D", 11, 1, 1, 32, 1, "float", 64, one), "clamp", False, True),
        "2D": (Picture(generation, "2D", 11, 7, 1, 8, 4, "unorm", 64, four), "wrap", True, False),
        "3D": (Picture(generation, "3D", 5, 4, 3, 16, 2, "sint", 64, two), "border", False, True),
        "1D_ARRAY": (Picture(generation, "1D_ARRAY", 300, 1, 6, 16, 1, "float", 384, one), "mirror", False, False),
        # Without normalised coordinates nothing is mirrored.
        "2D_ARRAY": (Picture(generation, "2D_ARRAY", 33, 9, 4, 32, 4, "uint", 48, four), "clamp", False, True),
    }
    hsa = {"1D": (15, 1), "2D": (2, 8), "3D": (9, 3), "1D_ARRAY": (14, 1), "2D_ARRAY": (13, 8)}
    for name, (picture, mode, is_linear, unnormalized) in wanted.items():
        picture.address, words = found[name]
        sampler = Sampler((mode, mode, mode), is_linear, unnormalized, 0)
        assert words[:8] == picture.words(), name
        assert words[8:12] == [*hsa[name], picture.width, 0], name
        assert words[12:16] == sampler.words(generation), name


@pytest.mark.parametrize("gpu", TARGETS)
def test_what_is_refused(run: Run, gpu: str) -> None:
    ran = run(
        SHARED
        + f"""
has_images, filters_floats = {gpu in WITH_IMAGES}, {gpu in WITH_IMAGES[1:]}
value = ctypes.c_int(-1)
good("hipDeviceGetAttribute", ctypes.byref(value), 10014, 0)
assert value.value == has_images
good("hipDeviceGetAttribute", ctypes.byref(value), 43, 0)
assert value.value == (16384 if has_images else 0)
if not has_images:
    assert array(FLOAT, (8, 8, 0)) == NOT_SUPPORTED
    assert texture(linear(malloc(256), FLOAT, 256)) == NOT_SUPPORTED
    made = ctypes.c_void_p()
    assert call("hipCreateSurfaceObject", ctypes.byref(made), ctypes.byref(Resource())) == NOT_SUPPORTED
    raise SystemExit
assert array(Desc(32, 32, 32, 0, 2), (8, 8, 0)) == INVALID_VALUE, "three channels"
assert array(Desc(8, 16, 0, 0, 1), (8, 8, 0)) == INVALID_VALUE, "channels of two sizes"
assert array(Desc(24, 0, 0, 0, 1), (8, 8, 0)) == INVALID_VALUE
assert array(FLOAT, (16, 16, 6), 4) == INVALID_VALUE, "cube maps"
assert array(FLOAT, (0, 8, 0)) == INVALID_VALUE
assert array(FLOAT, (16385, 8, 0)) == INVALID_VALUE
assert array(FLOAT, (8, 0, 8)) == INVALID_VALUE, "depth without height"
plain, deep, bytes_ = array(FLOAT, (8, 8, 0)), array(BYTES, (8, 8, 4)), array(BYTES, (8, 8, 0))
assert texture(of_array(ctypes.c_void_p(plain.value + 8))) == INVALID_VALUE, "no array"
assert isinstance(texture(of_array(plain)), ctypes.c_void_p)
for made, filtered in ((plain, filters_floats), (deep, filters_floats), (bytes_, True)):
    got = texture(of_array(made), Texture(filter=1, read=1))
    assert (isinstance(got, ctypes.c_void_p) if filtered else got == NOT_SUPPORTED), (filtered, got)
assert texture(of_array(plain), Texture(anisotropy=4)) == NOT_SUPPORTED
assert texture(of_array(plain), Texture(bias=0.5)) == NOT_SUPPORTED
assert texture(Resource(1)) == NOT_SUPPORTED, "mipmaps"
assert texture(Resource(9)) == INVALID_VALUE
assert texture(of_array(bytes_), Texture(read=1, srgb=1)), "sRGB of four fractions"
assert texture(of_array(bytes_), Texture(read=0, srgb=1)) == INVALID_VALUE, "sRGB of integers"
assert isinstance(texture(of_array(plain), None, View(0x0d, 8, 8)), ctypes.c_void_p), "as unsigned integers"
assert texture(of_array(plain), None, View(0x0e, 8, 8)) == INVALID_VALUE, "as twice as many"
memory = malloc(4096)
assert isinstance(texture(linear(memory, FLOAT, 4096)), ctypes.c_void_p)
assert texture(linear(memory, FLOAT, 4096), None, View(0x16)) == INVALID_VALUE
assert texture(linear(memory + 4, FLOAT, 64)) == INVALID_VALUE, "not where a texture may begin"
assert texture(linear(memory, FLOAT, 8192)) == INVALID_VALUE, "more than there is"
assert texture(linear(0x1000, FLOAT, 64)) == INVALID_VALUE
assert isinstance(texture(rows(memory, FLOAT, 60, 16, 256)), ctypes.c_void_p)
assert texture(rows(memory, FLOAT, 60, 16, 252)) == INVALID_VALUE
assert texture(rows(memory, FLOAT, 65, 16, 256)) == INVALID_VALUE
filtered = texture(rows(memory, FLOAT, 60, 16, 256), Texture(filter=1))
assert (isinstance(filtered, ctypes.c_void_p) if filters_floats else filtered == OUT_OF_MEMORY), filtered
made = ctypes.c_void_p()
assert call("hipCreateSurfaceObject", ctypes.byref(made), ctypes.byref(linear(memory, FLOAT, 256))) == INVALID_VALUE
good("hipCreateSurfaceObject", ctypes.byref(made), ctypes.byref(of_array(plain)))
good("hipDestroySurfaceObject", made)
assert call("hipDestroySurfaceObject", made) == INVALID_VALUE, "twice"
""",
        gpu,
    )
    assert ran.code == 0, ran.err


def test_objects_tell_what_they_were_made_of(run: Run) -> None:
    ran = run(
        SHARED
        + """
made = array(FLOAT, (8, 8, 0))
wanted = Texture(address=(3, 2, 1), filter=1, normalized=1, border=(1, 2, 3, 4))
object_ = texture(of_array(made), wanted, View(0x16, 8, 8))
resource, back, view = Resource(7), Texture(), View()
good("hipGetTextureObjectResourceDesc", ctypes.byref(resource), object_)
good("hipGetTextureObjectTextureDesc", ctypes.byref(back), object_)
good("hipGetTextureObjectResourceViewDesc", ctypes.byref(view), object_)
assert (resource.type, resource.res.array) == (0, made.value)
assert bytes(back) == bytes(wanted) and (view.format, view.width) == (0x16, 8)
assert call("hipGetTextureObjectTextureDesc", ctypes.byref(back), made) == INVALID_VALUE, "no texture object"
shape = Extent()
desc = Desc()
good("hipArrayGetInfo", ctypes.byref(desc), ctypes.byref(shape), None, made)
assert bytes(desc) == bytes(FLOAT) and (shape.width, shape.height, shape.depth) == (8, 8, 0)
good("hipDestroyTextureObject", object_)
assert call("hipDestroyTextureObject", object_) == INVALID_VALUE, "twice"
good("hipDestroyTextureObject", None)
""",
        "rx6900xt",
    )
    assert ran.code == 0, ran.err


def test_copies_to_and_from_arrays(run: Run) -> None:
    """Rows of an array are longer than what is in them: whole copies go row by row."""
    ran = run(
        SHARED
        + """
made = array(FLOAT, (11, 7, 0))
data = bytes(range(256)) + bytes(52)
good("hipMemcpyToArray", made, size(0), size(0), data, size(308), H2D)
back = ctypes.create_string_buffer(308)
good("hipMemcpyFromArray", back, made, size(0), size(0), size(308), D2H)
assert back.raw == data
good("hipMemcpy2DFromArray", back, size(12), made, size(8), size(2), size(12), size(3), D2H)
assert back.raw[:36] == b"".join(data[44 * y + 8:44 * y + 20] for y in (2, 3, 4))
good("hipFreeArray", made)
assert call("hipFreeArray", made) == 709
""",
        "rx6900xt",
    )
    assert ran.code == 0, ran.err
