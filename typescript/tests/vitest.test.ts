// The helper for vitest, used as a project would use it; and a failing sweep, run by a vitest of its own.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import { anthropicAgent } from "../src/adapters.js";
import { testAgent } from "../src/vitest.js";

testAgent("two.toml", anthropicAgent(Anthropic), { name: "the official SDK", sweep: ["cancel", "message"] });

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));

function vitest(file: string, env: Record<string, string> = {}): string {
  try {
    return execFileSync("npx", ["vitest", "run", file, "--no-color"], {
      cwd: PACKAGE,
      encoding: "utf8",
      env: { ...process.env, VITEST: "", ...env },
      stdio: "pipe",
    });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return stdout + stderr;
  }
}

test("a sweep that fails writes plans, and one of them is replayed alone", { timeout: 60_000 }, () => {
  const folder = mkdtempSync(join(PACKAGE, "tests", "made-"));
  try {
    const file = join(folder, "naive.test.ts");
    const plans = join(folder, "plans");
    const settings = `{ sweep: "cancel", snapshot: false, plans: ${JSON.stringify(plans)} }`;
    writeFileSync(
      file,
      `import { testAgent } from "../../src/vitest.js";\nimport { naive } from "../agents.js";\ntestAgent("two.toml", naive, ${settings});\ntestAgent("silent.toml", naive);\n`,
    );
    const swept = vitest(file);
    expect(swept).toContain("2 findings at 2 boundaries with cancel");
    const plan = join(plans, "1-o-1-7c9e2a41.plan.toml");
    expect(swept).toContain(`REENACT_PLAN=${plan}`);
    expect(existsSync(plan)).toBe(true);
    const replayed = vitest(file, { REENACT_PLAN: plan });
    expect(replayed).toContain("tool use toolu_1 has no result in request 2");
    expect(replayed).toMatch(/Tests +1 failed \| 1 skipped/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
