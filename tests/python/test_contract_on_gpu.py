#!/usr/bin/env python3
"""trifuse.contract with arrays in the memory of GPUs, and with GPUs for arrays of the host.

Without a GPU: arrays with made-up pointers are refused with the right sentences. With one: the results are those of numpy.einsum; the
arrays are made by the driver of the GPU, and by CuPy and torch if they are installed. Alone, with the library of a build:

    PYTHONPATH=drivers/python TRIFUSE_LIBRARY=.../libtrifuse.so python3 tests/python/test_contract_on_gpu.py
"""

import ctypes
import importlib
import os
import sys
import types
import unittest

os.environ.setdefault("OMP_NUM_THREADS", "2")

import numpy as np

import trifuse
from trifuse import _library

HAS_CUDA = _library.library().has_cuda
HAS_GPU = HAS_CUDA and _library.library().gpu_count() > 0
GPU_MEMORY = 2  # kDLCUDA


class MadeUp:
    """An array of the CUDA array interface that is nowhere."""

    def __init__(self, shape, pointer=1 << 30, typestr="<f8", strides=None, stream=None, read_only=False, mask=None, **more):
        self.shape = shape
        self.__cuda_array_interface__ = {"version": 3, "shape": shape, "typestr": typestr, "data": (pointer, read_only), "strides": strides,
                                         "stream": stream, "mask": mask, **more}


class OnGpu(MadeUp):
    """The same, and it says which GPU has it."""

    def __init__(self, shape, gpu=0, **interface):
        super().__init__(shape, **interface)
        self.gpu = gpu

    def __dlpack_device__(self):
        return GPU_MEMORY, self.gpu


class ByDlpack:
    """An array that has DLPack alone. `pointer`: of its memory."""

    def __init__(self, shape, pointer=1 << 30, code=2, strides=None, kind=GPU_MEMORY):
        self.shape, self.strides = (ctypes.c_int64 * len(shape))(*shape), None if strides is None else (ctypes.c_int64 * len(shape))(*strides)
        self.pointer, self.code, self.kind, self.streams = pointer, code, kind, []

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        pack = (ctypes.c_uint64 * 9)()  # DLTensor, DLManagedTensor
        at = ctypes.addressof(pack)
        ctypes.c_uint64.from_address(at).value = self.pointer - 8
        ctypes.c_int32.from_address(at + 8).value = self.kind
        ctypes.c_int32.from_address(at + 16).value = len(self.shape)
        ctypes.c_uint8.from_address(at + 20).value = self.code
        ctypes.c_uint8.from_address(at + 21).value = 64
        ctypes.c_uint16.from_address(at + 22).value = 1
        ctypes.c_uint64.from_address(at + 24).value = ctypes.addressof(self.shape)
        ctypes.c_uint64.from_address(at + 32).value = 0 if self.strides is None else ctypes.addressof(self.strides)
        ctypes.c_uint64.from_address(at + 40).value = 8  # offset, bytes
        self.pack = pack
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(at, b"dltensor", None)


class Refusals(unittest.TestCase):
    def expect_error(self, sentence, *arguments, **options):
        with self.assertRaises(trifuse.UsageError) as raised:
            trifuse.contract(*arguments, **options)
        self.assertIn(sentence, str(raised.exception))
        self.assertRegex(str(raised.exception), r"^[^\n]*\.$")

    def refuse(self, sentence, a=None, b=None, out=None, **options):
        """Refuses one array or option; all other ones are right."""
        right = {"a": OnGpu((2, 3)), "b": OnGpu((3, 2)), "out": OnGpu((2, 2), pointer=1 << 31)}
        given = [right[name] if values is None else values for name, values in (("a", a), ("b", b), ("out", out))]
        self.expect_error(sentence, "ax,xb->ab", *given, **options)

    def test_arrays_of_the_host_beside_those_of_a_gpu(self):
        self.refuse("b is in the memory of a GPU, but a is not; copy one of them", a=np.ones((2, 3)))
        self.refuse("a is in the memory of a GPU, but b is not", b=[[1.0, 2.0]] * 3)
        self.refuse("a is in the memory of a GPU, but out is not", out=np.ones((2, 2)))
        self.refuse("a is on GPU 0, but b is on GPU 1; copy one of them", b=OnGpu((3, 2), gpu=1))

    def test_options_of_other_arrays(self):
        self.refuse("gpus is for arrays of the host, but a is in the memory of a GPU; leave gpus out", gpus=True)
        self.refuse("threads is for arrays of the host", threads=1)
        self.refuse("memory is for arrays of the host", memory=1000)
        two = np.ones((2, 2))
        self.expect_error("threads is for CPU cores, but gpus is given", "ab,bc->ac", two, two, threads=1, gpus=True)
        for none in ([], 0):
            self.expect_error(f"gpus is {none}, but it must be a list of numbers of GPUs, for example gpus=[0]; True takes all",
                              "ab,bc->ac", two, two, gpus=none)
        self.expect_error("gpus is 'x', but it must be an integer", "ab,bc->ac", two, two, gpus=["x"])
        self.expect_error("memory is the limit of memory on GPUs", "ab,bc->ac", two, two, memory=1)
        self.expect_error("limit of memory is -1 bytes", "ab,bc->ac", two, two, gpus=True, memory=-1)
        self.expect_error("Index b has the extent 2 in A, but 3 in B", "ab,bc->ac", two, np.ones((3, 2)), gpus=True)
        np.testing.assert_array_equal(trifuse.contract("ab,bc->ac", two, two, gpus=False), two + 1)

    def test_wrong_types_and_places(self):
        self.refuse("a is an array of float32 in the memory of a GPU; contractions there need float64", a=OnGpu((2, 3), typestr="<f4"))
        self.refuse("b is an array of int64", b=OnGpu((3, 2), typestr="<i8"))
        self.refuse("out is an array of >f8", out=OnGpu((2, 2), typestr=">f8"))
        self.refuse("a is a masked array", a=OnGpu((2, 3), mask=MadeUp((2, 3))))
        self.refuse("a has elements in the memory of a GPU, but its pointer is null", a=OnGpu((2, 3), pointer=0))
        self.refuse("a is not aligned", a=OnGpu((2, 3), pointer=(1 << 30) + 4))
        self.refuse("b is not aligned", b=OnGpu((3, 2), strides=(20, 8)))
        self.refuse("out must be writeable", out=OnGpu((2, 2), read_only=True))
        self.refuse("out shares memory with b", out=OnGpu((2, 2), pointer=(1 << 30) + 8), a=OnGpu((2, 3), pointer=1 << 20))
        self.refuse("b is an array of int64", b=ByDlpack((3, 2), code=0))

    def test_no_result_of_an_unknown_library(self):
        self.expect_error("out must be given", "ax,xb->ab", OnGpu((2, 3)), OnGpu((3, 2)))
        self.expect_error("out is not given", "ax,xb->ab", OnGpu((2, 3)), OnGpu((3, 2)), beta=1.0)

    @unittest.skipIf(HAS_CUDA, "this Trifuse has CUDA")
    def test_a_build_without_cuda_says_so(self):
        sentence = "a is in the memory of a GPU, but this Trifuse was built without CUDA; copy it to the host"
        self.refuse(sentence)
        self.refuse(sentence, a=MadeUp((2, 3)), b=MadeUp((3, 2), stream=7))
        self.refuse(sentence, a=ByDlpack((2, 3)), b=ByDlpack((3, 2), strides=(1, 3)))
        self.refuse(sentence, out=OnGpu((2, 2), pointer=(1 << 30) + 1024, strides=(8, 16)))
        two = np.ones((2, 2))
        self.expect_error("This Trifuse was built without CUDA.", "ab,bc->ac", two, two, gpus=True)
        self.expect_error("This Trifuse was built without CUDA.", "ab,bc->ac", two, two, gpus=[0])


class Call(unittest.TestCase):
    """What reaches the library, with a library that computes nothing and a made-up CuPy."""

    def setUp(self):
        self.calls = []
        real = _library.library
        fake = types.SimpleNamespace(has_cuda=True, call=lambda *arguments: self.calls.append(arguments))
        _library.library = lambda: fake
        self.addCleanup(setattr, _library, "library", real)

    def contract(self, *arguments, **options):
        found = trifuse.contract("ax,xb->ab", *arguments, **options)
        name, _, alpha, a, _, b, layout, beta, out, _, gpu, stream = self.calls.pop()
        self.assertEqual(name, "contract_in_gpu_memory")
        layout = layout._obj
        return found, (alpha, a, b, beta, out, gpu, stream), [layout.strides[n] for n in range(layout.rank)]

    def test_places_and_streams(self):
        a, b = OnGpu((2, 3), gpu=2, pointer=4096), OnGpu((3, 2), gpu=2, pointer=8192, strides=(8, 24))
        out = OnGpu((2, 2), gpu=2, pointer=16384)
        self.assertEqual(self.contract(a, b, out, alpha=2, beta=3), (out, (2, 4096, 8192, 3, 16384, 2, 1), [1, 3]))
        out.__cuda_array_interface__["stream"] = 77
        self.assertEqual(self.contract(a, b, out)[1], (1, 4096, 8192, 0, 16384, 2, 77))

    def test_dlpack(self):
        a, b, out = ByDlpack((2, 3), pointer=4096), ByDlpack((3, 2), pointer=8192, strides=(1, 3)), ByDlpack((2, 2), pointer=16384)
        self.assertEqual(self.contract(a, b, out), (out, (1, 4096, 8192, 0, 16384, 0, 1), [1, 3]))
        self.assertEqual(b.streams, [1])

    def test_results_and_streams_of_cupy(self):
        devices = []

        class Device:
            def __init__(self, number):
                devices.append(number)

            def __enter__(self):
                return self

            def __exit__(self, *_):
                return None

        class Array(OnGpu):
            __module__ = "cupy"

        cupy = types.ModuleType("cupy")
        cupy.cuda = types.SimpleNamespace(Device=Device, get_current_stream=lambda: types.SimpleNamespace(ptr=55))
        cupy.empty = lambda shape, dtype: Array(tuple(shape), gpu=3, pointer=1 << 20)
        before = sys.modules.get("cupy")
        sys.modules["cupy"] = cupy
        try:
            found, arguments, _ = self.contract(OnGpu((2, 3), gpu=3), Array((3, 2), gpu=3))
        finally:
            sys.modules["cupy"] = before
            if before is None:
                del sys.modules["cupy"]
        self.assertIsInstance(found, Array)
        self.assertEqual(found.shape, (2, 2))
        self.assertEqual(arguments[-2:], (3, 55))
        self.assertEqual(set(devices), {3})


class Driver:
    """Arrays in the memory of GPU 0, by the driver."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self("cuInit", 0)
        context = ctypes.c_void_p()
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self("cuCtxSetCurrent", context)

    def __call__(self, function, *arguments):
        code = getattr(self.library, function)(*arguments)
        if code != 0:
            raise RuntimeError(f"{function} fails with code {code}")

    def array(self, values, kind=MadeUp, **interface):
        """A copy of an array with its strides."""
        memory = values
        while isinstance(memory.base, np.ndarray):
            memory = memory.base
        pointer = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(8, memory.nbytes)))
        if memory.nbytes:
            self("cuMemcpyHtoD_v2", pointer, ctypes.c_void_p(memory.ctypes.data), ctypes.c_size_t(memory.nbytes))
        first = pointer.value + values.ctypes.data - memory.ctypes.data
        strides = values.strides if kind is MadeUp else tuple(stride // 8 for stride in values.strides)
        found = kind(values.shape, pointer=first, strides=strides, **interface)
        found.start, found.memory = pointer, memory
        return found

    def numbers(self, array, like):
        """A copy of an array on the host, with the strides of `like`."""
        self("cuCtxSynchronize")
        memory = np.empty_like(array.memory).reshape(-1)
        if memory.nbytes:
            self("cuMemcpyDtoH_v2", ctypes.c_void_p(memory.ctypes.data), array.start, ctypes.c_size_t(memory.nbytes))
        offset = like.ctypes.data - array.memory.ctypes.data
        return np.ndarray(like.shape, np.float64, memory, offset, like.strides)


def problems(rng):
    """Expressions and operands, some with strides."""
    for expression, *shapes in (("aebf,dfce->abcd", (12, 17, 9, 8), (10, 8, 11, 17)), ("ab,bc->ca", (70, 33), (33, 50)),
                                ("xab,xbc->axc", (5, 9, 30), (5, 30, 8)), ("ab,ab->", (40, 40), (40, 40)), ("a,b->ab", (30,), (70,)),
                                ("ax,xb->ab", (6, 0), (0, 5))):
        yield expression, rng.uniform(-1, 1, shapes[0]), rng.uniform(-1, 1, shapes[1])
    yield "ab,bc->ac", rng.uniform(-1, 1, (60, 90))[::2, ::-3], rng.uniform(-1, 1, (20, 30)).T


@unittest.skipUnless(HAS_GPU, "there is no GPU, or this Trifuse was built without CUDA")
class Results(unittest.TestCase):
    def test_arrays_of_the_host(self):
        for expression, a, b in problems(np.random.default_rng(1)):
            for options in ({"gpus": True}, {"gpus": [0]}, {"gpus": [0], "memory": 4000}):
                with self.subTest(expression, **options):
                    expected = np.einsum(expression, a, b)
                    np.testing.assert_allclose(trifuse.contract(expression, a, b, **options), expected, rtol=1e-12, atol=1e-12)
                    out = np.full(expected.shape, 2.0)
                    trifuse.contract(expression, a, b, out, alpha=-1, beta=0.5, **options)
                    np.testing.assert_allclose(out, 1 - expected, rtol=1e-12, atol=1e-12)

    def test_a_gpu_that_is_not_there(self):
        with self.assertRaises(trifuse.UsageError):
            trifuse.contract("a,a->", [1.0], [1.0], gpus=[4000])

    def test_arrays_of_the_driver(self):
        driver = Driver()
        stream = ctypes.c_void_p()
        driver("cuStreamCreate", ctypes.byref(stream), 0)
        for expression, a, b in problems(np.random.default_rng(2)):
            expected = np.einsum(expression, a, b)
            old = np.full((*expected.shape, 2), 3.0)[..., 0] if expected.ndim else np.full((), 3.0)
            for kind, options in ((MadeUp, {}), (MadeUp, {"stream": stream.value}), (ByDlpack, {})):
                with self.subTest(expression, kind=kind.__name__, **options):
                    # The description of DLPack adds an offset of 8 bytes.
                    arrays = [driver.array(values, kind, **options) for values in (a, b, old)]
                    found = trifuse.contract(expression, *arrays, alpha=2, beta=-1)
                    self.assertIs(found, arrays[2])
                    np.testing.assert_allclose(driver.numbers(arrays[2], old), 2 * expected - 3, rtol=1e-12, atol=1e-12)

    def test_cupy_and_torch(self):
        for name, to_gpu, to_host in (("cupy", lambda module, x: module.asarray(x), lambda x: x.get()),
                                      ("torch", lambda module, x: module.from_numpy(x.copy()).cuda(), lambda x: x.cpu().numpy())):
            try:
                module = importlib.import_module(name)
            except ImportError:
                continue
            for expression, a, b in problems(np.random.default_rng(3)):
                with self.subTest(expression, library=name):
                    found = trifuse.contract(expression, to_gpu(module, a), to_gpu(module, b))
                    self.assertEqual(type(found), type(to_gpu(module, a)))
                    np.testing.assert_allclose(to_host(found), np.einsum(expression, a, b), rtol=1e-12, atol=1e-12)
            if name == "torch":
                stream = module.cuda.Stream()
                with module.cuda.stream(stream):
                    a = module.rand(300, 300, dtype=module.float64, device="cuda", requires_grad=True)
                    found = trifuse.contract("ab,bc->ca", a, a)
                    module.testing.assert_close(found, (a @ a).T.detach())


if __name__ == "__main__":
    unittest.main()
