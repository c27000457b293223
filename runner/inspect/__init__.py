"""What a kernel does to memory, counted on the CPU device and held against a GPU's own counters."""
