"""The Python behind ./gemm: it builds, runs and reports. It knows nothing about kernels."""
