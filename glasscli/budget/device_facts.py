"""Facts about GPUs and machines with one memory, as of 2026-11: how much memory, how fast, each with its source.

`smi` is what nvidia-smi or rocm-smi prints as the total, in MiB, with error correction where the card has it on by
default. Where no such figure was found there is none, and the maker's own stands for it. `cuda` is what a program sees
of that, in GiB as vLLM logs it: less, for the driver keeps some for itself; it changes a little with the driver.

Sources: `smi` and `cuda` as printed in public logs and reports (issues of vLLM and others, 2023 to 2026); `nominal` and
`bandwidth` from the makers' data sheets of the year given.
"""

from typing import NamedTuple

NVIDIA, AMD, INTEL, APPLE = "NVIDIA", "AMD", "Intel", "Apple"


class Facts(NamedTuple):
    """One device: names as people type them, the first ours; GB as its maker says; GB/s; see the module for the rest.

    `aliases` are further names, apart by spaces. `unified`: one memory for the processor and the GPU.
    """

    maker: str
    name: str
    aliases: str
    nominal: int
    bandwidth: float
    year: int
    smi: int | None = None
    cuda: float | None = None
    unified: bool = False


FACTS: tuple[Facts, ...] = (
    # Data centre, Blackwell to Volta.
    Facts(NVIDIA, "b300", "b300-288g gb300", 288, 8000, 2025, 275040),
    Facts(NVIDIA, "b200", "b200-180g b200-192g", 192, 8000, 2024, 183359, 178.35),
    Facts(NVIDIA, "gb200", "gb200-186g", 192, 8000, 2024, 189471),
    Facts(NVIDIA, "h200", "h200-141g h200-sxm", 141, 4800, 2023, 143771, 139.8),
    Facts(NVIDIA, "h200-nvl", "", 141, 4800, 2024, 143771, 139.8),
    Facts(NVIDIA, "h100", "h100-80g h100-sxm h100-sxm5 h100-hbm3", 80, 3350, 2022, 81559, 79.1),
    Facts(NVIDIA, "h100-pcie", "h100-pcie-80g", 80, 2000, 2022, 81559, 79.1),
    Facts(NVIDIA, "h100-nvl", "h100-94g h100-nvl-94g", 94, 3900, 2023, 95830, 93.1),
    Facts(NVIDIA, "h20", "h20-96g", 96, 4000, 2023, 97871, 95.1),
    Facts(NVIDIA, "h800", "h800-80g", 80, 3350, 2023, 81559, 79.1),
    Facts(NVIDIA, "gh200", "gh200-96g", 96, 4000, 2023, 97871, 94.5),
    Facts(NVIDIA, "gh200-144", "gh200-141g gh200-144g", 144, 4900, 2024),
    Facts(NVIDIA, "a100", "a100-80 a100-80g a100-sxm4-80g", 80, 2039, 2020, 81920, 79.25),
    Facts(NVIDIA, "a100-pcie", "a100-pcie-80g", 80, 1935, 2021, 81920, 79.25),
    Facts(NVIDIA, "a100-40", "a100-40g a100-sxm4-40g", 40, 1555, 2020, 40960, 39.56),
    Facts(NVIDIA, "a800", "a800-80g", 80, 2039, 2022, 81920, 79.25),
    Facts(NVIDIA, "a30", "a30-24g", 24, 933, 2021, 24576, 23.6),
    Facts(NVIDIA, "a10", "a10-24g", 24, 600, 2021, 23028, 22.05),
    Facts(NVIDIA, "a10g", "a10g-24g g5", 24, 600, 2021, 23028, 22.05),
    Facts(NVIDIA, "a16", "a16-16g", 16, 200, 2021, 15356),
    Facts(NVIDIA, "a40", "a40-48g", 48, 696, 2020, 46068, 44.42),
    Facts(NVIDIA, "a2", "a2-16g", 16, 200, 2021, 15356),
    Facts(NVIDIA, "l40s", "l40s-48g g6e", 48, 864, 2023, 46068, 44.42),
    Facts(NVIDIA, "l40", "l40-48g", 48, 864, 2022, 46068, 44.42),
    Facts(NVIDIA, "l20", "l20-48g", 48, 864, 2023, 46068, 44.42),
    Facts(NVIDIA, "l4", "l4-24g g6", 24, 300, 2023, 23034, 22.03),
    Facts(NVIDIA, "v100", "v100-32 v100-32g v100s", 32, 900, 2018, 32768, 31.73),
    Facts(NVIDIA, "v100-16", "v100-16g", 16, 900, 2017, 16384, 15.77),
    Facts(NVIDIA, "t4", "t4-16g tesla-t4 g4dn", 16, 320, 2018, 15360, 14.56),
    Facts(NVIDIA, "p100", "p100-16g tesla-p100", 16, 732, 2016, 16384, 15.89),
    Facts(NVIDIA, "p40", "p40-24g tesla-p40", 24, 347, 2016, 24576, 23.87),
    # Workstations.
    Facts(NVIDIA, "rtx-pro-6000", "pro-6000 rtx-6000-blackwell rtx-pro-6000-96g g7e", 96, 1792, 2025, 97887, 94.97),
    Facts(NVIDIA, "rtx-pro-5000", "pro-5000 rtx-pro-5000-48g", 48, 1344, 2025),
    Facts(NVIDIA, "rtx-6000-ada", "6000-ada rtx6000ada a6000-ada", 48, 960, 2022, 49140, 47.37),
    Facts(NVIDIA, "rtx-5000-ada", "5000-ada rtx5000ada", 32, 576, 2023, 32760),
    Facts(NVIDIA, "rtx-4000-ada", "4000-ada rtx4000ada", 20, 360, 2023, 20475),
    Facts(NVIDIA, "rtx-a6000", "a6000 a6000-48g rtx-a6000-48g", 48, 768, 2020, 49140, 47.43),
    Facts(NVIDIA, "rtx-a5000", "a5000 a5000-24g", 24, 768, 2021, 24564, 23.68),
    Facts(NVIDIA, "rtx-a4000", "a4000 a4000-16g", 16, 448, 2021, 16376, 15.7),
    Facts(NVIDIA, "rtx-8000", "quadro-rtx-8000", 48, 672, 2018, 49152, 47.3),
    # Desktops.
    Facts(NVIDIA, "rtx-5090", "5090", 32, 1792, 2025, 32607, 31.36),
    Facts(NVIDIA, "rtx-5080", "5080", 16, 960, 2025, 16303, 15.47),
    Facts(NVIDIA, "rtx-5070-ti", "5070-ti", 16, 896, 2025, 16303, 15.47),
    Facts(NVIDIA, "rtx-5070", "5070", 12, 672, 2025, 12227),
    Facts(NVIDIA, "rtx-5060-ti", "5060-ti 5060-ti-16g", 16, 448, 2025, 16311, 15.48),
    Facts(NVIDIA, "rtx-4090", "4090", 24, 1008, 2022, 24564, 23.64),
    Facts(NVIDIA, "rtx-4080", "4080 4080-super rtx-4080-super", 16, 717, 2022, 16376, 15.7),
    Facts(NVIDIA, "rtx-4070-ti-super", "4070-ti-super", 16, 672, 2024, 16376, 15.7),
    Facts(NVIDIA, "rtx-4070", "4070 4070-ti rtx-4070-ti 4070-super", 12, 504, 2023, 12282, 11.6),
    Facts(NVIDIA, "rtx-4060-ti-16", "4060-ti-16g 4060ti-16g", 16, 288, 2023, 16380, 15.6),
    Facts(NVIDIA, "rtx-4060", "4060 4060-ti rtx-4060-ti", 8, 272, 2023, 8188, 7.6),
    Facts(NVIDIA, "rtx-3090", "3090", 24, 936, 2020, 24576, 23.58),
    Facts(NVIDIA, "rtx-3090-ti", "3090-ti", 24, 1008, 2022, 24564, 23.68),
    Facts(NVIDIA, "rtx-3080", "3080 3080-10g", 10, 760, 2020, 10240, 9.65),
    Facts(NVIDIA, "rtx-3080-ti", "3080-ti 3080-12g", 12, 912, 2021, 12288, 11.76),
    Facts(NVIDIA, "rtx-3060", "3060 3060-12g", 12, 360, 2021, 12288, 11.76),
    Facts(NVIDIA, "rtx-2080-ti", "2080-ti", 11, 616, 2018, 11264, 10.75),
    Facts(NVIDIA, "dgx-spark", "gb10 spark dgx-spark-128g", 128, 273, 2025, 122572, unified=True),
    Facts(NVIDIA, "jetson-agx-orin", "agx-orin orin-64g", 64, 205, 2022, unified=True),
    Facts(NVIDIA, "jetson-thor", "agx-thor thor", 128, 273, 2025, unified=True),
    # Others.
    Facts(AMD, "mi355x", "mi355x-288g mi355", 288, 8000, 2025, 294896),
    Facts(AMD, "mi325x", "mi325x-256g mi325", 256, 6000, 2024, 262128, 255.98),
    Facts(AMD, "mi300x", "mi300x-192g mi300", 192, 5300, 2023, 196592, 191.98),
    Facts(AMD, "mi300a", "mi300a-128g", 128, 5300, 2023, unified=True),
    Facts(AMD, "mi250x", "mi250 mi250x-gcd", 64, 1638, 2021, 65520, 63.98),
    Facts(AMD, "mi210", "mi210-64g", 64, 1638, 2021, 65520, 63.98),
    Facts(AMD, "w7900", "radeon-pro-w7900", 48, 864, 2023, 49136, 44.98),
    Facts(AMD, "rx-7900-xtx", "7900-xtx 7900xtx", 24, 960, 2022, 24560, 23.98),
    Facts(AMD, "rx-9070-xt", "9070-xt 9070xt", 16, 640, 2025, 16304),
    Facts(AMD, "r9700", "ai-pro-r9700", 32, 640, 2025, 32624),
    Facts(AMD, "strix-halo", "ryzen-ai-max-395 ai-max-395 strix-halo-128g", 128, 256, 2025, unified=True),
    Facts(INTEL, "gaudi3", "gaudi-3 hl-325", 128, 3700, 2024, 131072),
    Facts(INTEL, "gaudi2", "gaudi-2 hl-225", 96, 2450, 2022, 98304),
    Facts(INTEL, "arc-b580", "b580", 12, 456, 2024),
    Facts(INTEL, "arc-a770", "a770", 16, 560, 2022),
    Facts(INTEL, "arc-pro-b60", "b60", 24, 456, 2025),
)

# Apple's chips, all with one memory, by GB/s, and the sizes that each is sold with in GiB: `m3-max-128` is one of them.
APPLE_FACTS: tuple[tuple[str, float, int, tuple[int, ...]], ...] = (
    ("m1", 68, 2020, (8, 16)),
    ("m1-pro", 200, 2021, (16, 32)),
    ("m1-max", 400, 2021, (32, 64)),
    ("m1-ultra", 800, 2022, (64, 128)),
    ("m2", 100, 2022, (8, 16, 24)),
    ("m2-pro", 200, 2023, (16, 32)),
    ("m2-max", 400, 2023, (32, 64, 96)),
    ("m2-ultra", 800, 2023, (64, 128, 192)),
    ("m3", 100, 2023, (8, 16, 24)),
    ("m3-pro", 150, 2023, (18, 36)),
    ("m3-max", 400, 2023, (36, 48, 64, 96, 128)),
    ("m3-ultra", 819, 2025, (96, 256, 512)),
    ("m4", 120, 2024, (16, 24, 32)),
    ("m4-pro", 273, 2024, (24, 48, 64)),
    ("m4-max", 546, 2024, (36, 48, 64, 128)),
    ("m5", 153, 2025, (16, 24, 32)),
)
