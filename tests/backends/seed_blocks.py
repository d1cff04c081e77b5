"""Every Python block of the AMD back-end guide (v0.3.6), word for word, and the free names each one leaves open.

Shared by tests/backends/test_seed_blocks.py and, on a GPU machine without pytest, tests/hw/test_backend_nvidia.py.
"""

from __future__ import annotations

from typing import Any

BLOCKS: dict[str, str] = {
    "basic_usage": """\
from kernel_pytorch.backends.amd import AMDBackend
from kernel_pytorch.core.config import AMDConfig
import torch.nn as nn

# Initialize backend (auto-detects architecture)
backend = AMDBackend()

# Prepare model for AMD GPU
model = nn.Sequential(
    nn.Linear(512, 256),
    nn.GELU(),
    nn.Linear(256, 10)
)
prepared_model = backend.prepare_model(model)

print(f"Using device: {backend.device}")
print(f"Device info: {backend.get_device_info()}")
""",
    "with_amd_optimizer": """\
from kernel_pytorch.backends.amd import AMDBackend, AMDOptimizer
from kernel_pytorch.core.config import AMDConfig, AMDArchitecture

# Configure for MI300X (CDNA3)
config = AMDConfig(
    architecture=AMDArchitecture.CDNA3,
    optimization_level="aggressive",
    enable_matrix_cores=True,
    enable_mixed_precision=True,
)

# Initialize optimizer
optimizer = AMDOptimizer(config)

# Optimize model
model = nn.Linear(1024, 1024)
optimized_model = optimizer.optimize(model)

# Get optimization summary
summary = optimizer.get_optimization_summary()
print(f"Architecture: {summary['architecture']}")
print(f"Matrix Cores: {summary['matrix_cores_enabled']}")
""",
    "verify_installation": """\
import torch
print(f"PyTorch version: {torch.__version__}")
print(f"CUDA/ROCm available: {torch.cuda.is_available()}")
print(f"Device count: {torch.cuda.device_count()}")
print(f"Device name: {torch.cuda.get_device_name(0)}")
""",
    "amdconfig_options": """\
from kernel_pytorch.core.config import AMDConfig, AMDArchitecture

config = AMDConfig(
    # Hardware
    architecture=AMDArchitecture.AUTO,  # AUTO, CDNA, CDNA2, CDNA3, RDNA2, RDNA3
    device_id=0,  # GPU device ID

    # Optimization
    optimization_level="balanced",  # conservative, balanced, aggressive
    enable_matrix_cores=True,  # Enable Matrix Core acceleration (CDNA2/3)
    enable_mixed_precision=True,  # Enable mixed precision training
    enable_operator_fusion=True,  # Enable operator fusion

    # Memory
    enable_memory_pooling=True,  # Enable memory pooling
    memory_pool_size_gb=8.0,  # Memory pool size
    max_memory_fraction=0.9,  # Maximum memory fraction to use

    # Compiler
    hip_kernel_cache_enabled=True,  # Enable HIP kernel caching
    hip_compiler_cache_size=100,  # Max cached kernels
    hip_compiler_cache_dir="/tmp/hip_cache",  # Cache directory

    # Libraries
    rocblas_enabled=True,  # Enable rocBLAS
    enable_rocblas_tuning=True,  # Enable rocBLAS tuning
    miopen_enabled=True,  # Enable MIOpen (AMD's cuDNN)
    miopen_find_mode="NORMAL",  # NORMAL, FAST, HYBRID

    # Precision
    default_precision="fp32",  # fp32, fp16, bf16
    allow_fp16=True,
    allow_bf16=True,

    # Profiling
    enable_profiling=False,  # Enable profiling

    # Validation
    enable_strict_validation=False,  # Strict validation mode
    enable_oom_protection=True,  # OOM protection
)
""",
    "architecture_specific_defaults": """\
# CDNA3 (MI300) - Maximum performance
config = AMDConfig(
    architecture=AMDArchitecture.CDNA3,
    optimization_level="aggressive",
    enable_matrix_cores=True,
    default_precision="bf16",
)

# CDNA2 (MI200) - Balanced performance
config = AMDConfig(
    architecture=AMDArchitecture.CDNA2,
    optimization_level="balanced",
    enable_matrix_cores=True,
    default_precision="fp16",
)

# RDNA3 (Consumer) - Conservative
config = AMDConfig(
    architecture=AMDArchitecture.RDNA3,
    optimization_level="conservative",
    enable_matrix_cores=False,  # Not available on RDNA
)
""",
    "amdbackend": """\
from kernel_pytorch.backends.amd import AMDBackend
from kernel_pytorch.core.config import AMDConfig

config = AMDConfig()
backend = AMDBackend(config)

# Check availability
if backend.is_available():
    print(f"Device: {backend.device}")
    print(f"Info: {backend.get_device_info()}")

# Prepare model
model = nn.Linear(512, 256)
prepared = backend.prepare_model(model)

# Synchronize operations
backend.synchronize()

# Cleanup
backend.cleanup()
""",
    "amdoptimizer": """\
from kernel_pytorch.backends.amd import AMDOptimizer
from kernel_pytorch.core.config import AMDConfig

config = AMDConfig(optimization_level="balanced")
optimizer = AMDOptimizer(config)

# Optimize with specific level
optimized = optimizer.optimize(model, level="aggressive")

# Get summary
summary = optimizer.get_optimization_summary()
print(f"Applied optimizations: {summary['optimizations_applied']}")
""",
    "rocmcompiler": """\
from kernel_pytorch.backends.amd import ROCmCompiler
from kernel_pytorch.core.config import AMDConfig

config = AMDConfig()
compiler = ROCmCompiler(config)

# Compile kernel
kernel_source = "__global__ void add(float* a, float* b, float* c) { ... }"
kernel = compiler.compile_kernel(kernel_source, "add_kernel")

print(f"Kernel: {kernel.name}")
print(f"Architecture: {kernel.architecture}")

# Get compilation stats
stats = compiler.get_compilation_stats()
print(f"Cache hit rate: {stats['cache_hit_rate_percent']}%")

# Clear cache
compiler.clear_cache()
""",
    "amdmemorymanager": """\
from kernel_pytorch.backends.amd import AMDMemoryManager
from kernel_pytorch.core.config import AMDConfig

config = AMDConfig(memory_pool_size_gb=8.0)
manager = AMDMemoryManager(config)

# Get memory stats
stats = manager.get_memory_stats()
print(f"Total: {stats.total_mb}MB")
print(f"Allocated: {stats.allocated_mb}MB")
print(f"Free: {stats.free_mb}MB")

# Get allocation summary
summary = manager.get_allocation_summary()
""",
    "hiputilities": """\
from kernel_pytorch.backends.amd import HIPUtilities
from kernel_pytorch.core.config import AMDConfig

config = AMDConfig(enable_profiling=True)
utils = HIPUtilities(config)

# Create stream
stream = utils.create_stream("compute", priority=0)

# Profile operations
with utils.profile_region("forward_pass"):
    output = model(input_data)

# Get profiling summary
summary = utils.get_profiling_summary()
for name, data in summary.get("regions", {}).items():
    print(f"{name}: {data['avg_ms']:.3f}ms")

# Cleanup
utils.cleanup()
""",
    "training_loop": """\
from kernel_pytorch.backends.amd import AMDBackend, AMDOptimizer
from kernel_pytorch.core.config import AMDConfig, AMDArchitecture
import torch
import torch.nn as nn

# Configure for MI300X
config = AMDConfig(
    architecture=AMDArchitecture.CDNA3,
    optimization_level="balanced",
    enable_matrix_cores=True,
    default_precision="bf16",
)

# Initialize
backend = AMDBackend(config)
amd_optimizer = AMDOptimizer(config)

# Model and optimizer
model = nn.Sequential(
    nn.Linear(1024, 2048),
    nn.GELU(),
    nn.Linear(2048, 1024),
)
model = backend.prepare_model(model)
model = amd_optimizer.optimize(model)

optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

# Training
for epoch in range(10):
    for batch in dataloader:
        inputs, targets = batch
        inputs = inputs.to(backend.device)
        targets = targets.to(backend.device)

        optimizer.zero_grad()
        outputs = model(inputs)
        loss = nn.functional.mse_loss(outputs, targets)
        loss.backward()
        optimizer.step()

    backend.synchronize()
    print(f"Epoch {epoch}: loss={loss.item():.4f}")
""",
    "cross_backend_portability": """\
from kernel_pytorch.backends.amd import AMDBackend
from kernel_pytorch.backends.nvidia import NVIDIABackend
from kernel_pytorch.core.config import AMDConfig, KernelPyTorchConfig

# Train on NVIDIA
nvidia_config = KernelPyTorchConfig()
nvidia_backend = NVIDIABackend(nvidia_config)
nvidia_model = nvidia_backend.prepare_model(model)

# ... train ...

# Save checkpoint (CPU tensors)
checkpoint = {
    'model_state_dict': {k: v.cpu() for k, v in nvidia_model.state_dict().items()},
    'epoch': 10,
}

# Load on AMD
amd_config = AMDConfig()
amd_backend = AMDBackend(amd_config)
amd_model = amd_backend.prepare_model(model)
amd_model.load_state_dict(checkpoint['model_state_dict'])

# Continue training or inference on AMD
""",
    "enable_matrix_cores_cdna2_cdna3": """\
config = AMDConfig(
    architecture=AMDArchitecture.CDNA3,
    enable_matrix_cores=True,
    default_precision="bf16",  # Best for Matrix Cores
)
""",
    "use_aggressive_optimization": """\
config = AMDConfig(
    optimization_level="aggressive",
    enable_operator_fusion=True,
    enable_rocblas_tuning=True,
)
""",
    "optimize_memory": """\
config = AMDConfig(
    enable_memory_pooling=True,
    memory_pool_size_gb=16.0,  # Large pool for MI300X
    max_memory_fraction=0.9,
)
""",
    "use_profiling": """\
config = AMDConfig(enable_profiling=True)
utils = HIPUtilities(config)

with utils.profile_region("critical_path"):
    # Profile this code
    pass

summary = utils.get_profiling_summary()
""",
    "exception_hierarchy": """\
from kernel_pytorch.backends.amd.amd_exceptions import (
    AMDBackendError,      # Base exception
    ROCmNotAvailableError,  # ROCm not installed
    AMDDeviceError,       # Device-related errors
    HIPCompilationError,  # Kernel compilation failed
    ROCmMemoryError,      # Memory allocation failed
    MatrixCoreError,      # Matrix Core issues
    AMDOptimizationError, # Optimization failed
    AMDConfigurationError, # Invalid configuration
)

try:
    backend = AMDBackend(config)
    model = backend.prepare_model(model)
except ROCmNotAvailableError:
    print("ROCm not available - using CPU fallback")
except AMDDeviceError as e:
    print(f"Device error: {e}")
except ROCmMemoryError as e:
    print(f"Memory error: {e}")
""",
    "cpu_fallback_mode": """\
# AMDBackend automatically falls back to CPU when ROCm unavailable
backend = AMDBackend()

if backend.device.type == "cpu":
    print("Running in CPU fallback mode")
else:
    print(f"Running on AMD GPU: {backend.get_device_info()['name']}")
""",
    "memory_issues": """\
# Enable OOM protection
config = AMDConfig(
    enable_oom_protection=True,
    max_memory_fraction=0.8,  # Use less memory
)

# Clear cache periodically
backend.synchronize()
torch.cuda.empty_cache()
""",
    "kernel_compilation_errors": """\
# Check compiler cache
compiler = ROCmCompiler(config)
stats = compiler.get_compilation_stats()

# Clear cache if corrupted
compiler.clear_cache()
""",
    "performance_issues": """\
# Profile to find bottlenecks
config = AMDConfig(enable_profiling=True)
utils = HIPUtilities(config)

with utils.profile_region("suspect_code"):
    # Your code here
    pass

summary = utils.get_profiling_summary()
for name, data in summary.get("regions", {}).items():
    print(f"{name}: {data['avg_ms']:.3f}ms (min={data['min_ms']:.3f}, max={data['max_ms']:.3f})")
""",
    "use_architecture_specific_configuration": """\
# Always specify architecture for optimal defaults
config = AMDConfig(architecture=AMDArchitecture.CDNA3)
""",
    "profile_before_optimizing": """\
# Identify bottlenecks first
config = AMDConfig(enable_profiling=True)
""",
    "start_conservative_then_optimize": """\
# Start with conservative, increase if stable
config = AMDConfig(optimization_level="conservative")
# ... test ...
config = AMDConfig(optimization_level="balanced")
# ... test ...
config = AMDConfig(optimization_level="aggressive")
""",
    "monitor_memory_usage": """\
# Check memory regularly
manager = AMDMemoryManager(config)
stats = manager.get_memory_stats()
print(f"Memory usage: {stats.allocated_mb / stats.total_mb * 100:.1f}%")
""",
    "handle_cpu_fallback_gracefully": """\
backend = AMDBackend()
if backend.device.type == "cpu":
    # Adjust batch size, disable certain features
    batch_size = batch_size // 4
""",
}

# What the guide's own words cannot do. The compiler example's body is `{ ... }`, which is no C++.
RAISES: dict[str, str] = {"rocmcompiler": "HIPCompilationError"}

# Plain torch, without a word of ours: torch itself refuses it on a machine without a GPU.
NEEDS_GPU = ("verify_installation",)


def free_names() -> dict[str, Any]:
    """What the guide takes for granted: a model, data, a configuration, and imports made in an earlier block."""
    import torch
    from torch import nn

    from kernel_pytorch.backends.amd import AMDBackend, AMDMemoryManager, HIPUtilities, ROCmCompiler
    from kernel_pytorch.core.config import AMDArchitecture, AMDConfig

    config = AMDConfig()
    backend = AMDBackend(config)
    width = 1024
    generator = torch.Generator().manual_seed(0)
    pairs = [tuple(torch.randn(8, width, generator=generator) for _ in range(2)) for _ in range(2)]
    return {
        "AMDArchitecture": AMDArchitecture,
        "AMDBackend": AMDBackend,
        "AMDConfig": AMDConfig,
        "AMDMemoryManager": AMDMemoryManager,
        "HIPUtilities": HIPUtilities,
        "ROCmCompiler": ROCmCompiler,
        "backend": backend,
        "batch_size": 32,
        "config": config,
        "dataloader": pairs,
        "input_data": torch.randn(4, 512, generator=generator).to(backend.device),
        "model": nn.Linear(512, 256).to(backend.device),
        "nn": nn,
        "torch": torch,
    }


def run_block(name: str) -> dict[str, Any]:
    """Execute one block; the namespace it leaves."""
    namespace = {"__name__": f"seed_block_{name}", **free_names()}
    exec(compile(BLOCKS[name], f"<seed block {name}>", "exec"), namespace)
    return namespace


def needs_optimizer(name: str) -> bool:
    """Does the block use AMDOptimizer?"""
    return "AMDOptimizer" in BLOCKS[name]
