// The tests need neither the program nor a network: a stand-in speaks its lines.

import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    env: { REENACT_PROGRAM: fileURLToPath(new URL("tests/stub-world.mjs", import.meta.url)) },
    maxWorkers: 2,
  },
});
