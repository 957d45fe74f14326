# SPDX-License-Identifier: Apache-2.0
"""Turn the golden frames into a C++ table, for the host's tests and for the AVR's.

`python vectors.py FRAMES_JSON` prints the header. Frames are copied, never computed, so that the table stays golden.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def array(text: str) -> str:
    """A hex string as a C array's content; an empty one gets a byte that its length does not count."""
    return ", ".join(f"0x{byte:02x}" for byte in bytes.fromhex(text) or b"\0")


def main() -> None:
    """Print the header."""
    vectors = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print('#pragma once\n#include "rom.h"')
    print("struct Vector { const char* name; uint8_t type, session, seq, ack, payload_length, frame_length;")
    print("                uint8_t payload[48], frame[58]; };")
    print("const Vector kVectors[] ROM = {")
    for vector in vectors:
        header = ", ".join(str(vector[key]) for key in ("type", "session", "seq", "ack"))
        lengths = f"{len(vector['payload']) // 2}, {len(vector['frame']) // 2}"
        # The AVR needs its RAM for better things than names.
        print(f'#ifdef __AVR__\n{{nullptr,\n#else\n{{"{vector["name"]}",\n#endif')
        print(f"  {header}, {lengths}, {{{array(vector['payload'])}}}, {{{array(vector['frame'])}}}}},")
    print("};")
    print(f"constexpr uint8_t kVectorCount = {len(vectors)};")


if __name__ == "__main__":
    main()
