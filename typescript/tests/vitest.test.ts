// The helper for vitest, used as a project would use it; and a failing sweep, run by a vitest of its own.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import { anthropicAgent } from "../src/adapters.js";
import { testAgent } from "../src/vitest.js";

testAgent("two.toml", anthropicAgent(Anthropic), { name: "the official SDK", sweep: true });

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
      [
        'import { testAgent } from "../../src/vitest.js";',
        'import { naive } from "../agents.js";',
        `testAgent("two.toml", naive, ${settings});`,
        `testAgent("two.toml", naive, ${settings});`,
        `testAgent("silent.toml", naive, { snapshot: false, sweep: [] });`,
      ].join("\n"),
    );
    mkdirSync(join(plans, "naive-two-toml"), { recursive: true });
    writeFileSync(join(plans, "naive-two-toml", "9-old.plan.toml"), "");
    const swept = vitest(file);
    expect(swept).toContain("2 findings at 2 boundaries with cancel");
    const plan = join(plans, "naive-two-toml", "1-o-1-7c9e2a41.plan.toml");
    expect(swept).toContain(`REENACT_PLAN=${plan}`);
    expect(swept).toContain("naive-two-toml-2/1-o-1");
    expect(swept).toContain("a sweep without an action tries nothing");
    expect(readFileSync(plan, "utf8")).toMatch(/^# of "\.\.\/\.\.\/\.\.\/\.\.\/two\.toml"\n# seed 0\n/);
    expect(existsSync(join(plans, "naive-two-toml", "9-old.plan.toml"))).toBe(false);
    const replayed = vitest(file, { REENACT_PLAN: plan });
    expect(replayed).toContain("tool use toolu_1 has no result in request 2");
    expect(replayed).toMatch(/Tests +2 failed \| 1 skipped/);

    const other = join(folder, "other.plan.toml");
    writeFileSync(other, '# of "nowhere.toml"\n# seed 1\n\n[plan]\n');
    const refused = vitest(file, { REENACT_PLAN: other });
    expect(refused).toContain("no test is of this plan's scenario");
    expect(refused).toMatch(/Tests +3 failed/);
    writeFileSync(other, '# of "../../silent.toml"\n# seed 1\n\n[plan]\n');
    const plain = vitest(file, { REENACT_PLAN: other });
    expect(plain).toMatch(/Tests +1 passed \| 2 skipped/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const PROGRAM = process.env.REENACT_REAL_PROGRAM;

test.skipIf(PROGRAM === undefined)("an exploration that fails writes plans, and one of them is replayed alone", { timeout: 60_000 }, () => {
  const folder = mkdtempSync(join(PACKAGE, "tests", "made-"));
  try {
    const file = join(folder, "explored.test.ts");
    const plans = join(folder, "plans");
    const settings = `{ explore: "0,1,0", snapshot: false, plans: ${JSON.stringify(plans)}, set: { "engine.model": '"claude-opus-4-6"' } }`;
    writeFileSync(
      file,
      [
        'import { testAgent } from "../../src/vitest.js";',
        'import { careful } from "../agents.js";',
        "process.env.REENACT_PROGRAM = process.env.REENACT_REAL_PROGRAM;",
        `testAgent("tests/scenarios/two.toml", careful("rollback"), ${settings});`,
        `testAgent("tests/scenarios/two.toml", careful(), ${settings});`,
      ].join("\n"),
    );
    const explored = vitest(file);
    expect(explored).toContain("the smallest: overloaded instead of answer 2 and of each further attempt with the same model");
    expect(explored).toMatch(/Tests +1 failed \| 3 passed/);
    const [, plan = ""] = /REENACT_PLAN=(\S+)/.exec(explored) ?? [];
    const replayed = vitest(file, { REENACT_PLAN: plan });
    expect(replayed).toContain("the API refuses request");
    expect(replayed).toMatch(/Tests +1 failed \| 1 passed/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
