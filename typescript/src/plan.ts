// Plans: the text that makes one interrupted run again.
//
// A plan is the world's: its choices, and what the user does at which boundary. Comments say what it is for: the scenario, and the seed, which decides
// the agent's own chance.

/** What one interrupted run of a sweep does. */
export type Action = "cancel" | "cancel+prompt" | "message";

/** An action at a boundary, with all that a replay needs. */
export interface Interruption {
  scenario: string;
  seed: number | undefined;
  boundary: string;
  action: Action;
  then: string;
  message: string;
}

/** The plan of an interruption. `choices` are those of a run, as the world returns them. */
export function planText(interruption: Interruption, choices = ""): string {
  const { scenario, seed } = interruption;
  const comments = [`# of ${JSON.stringify(scenario)}`, ...(seed === undefined ? [] : [`# seed ${seed}`])];
  const base = choices.replace(/^# (of|seed) .*\n/gm, "").trim();
  const isIn = base.includes(`boundary = ${JSON.stringify(interruption.boundary)}`);
  const parts = [base, ...(isIn ? [] : [interruptText(interruption)])].filter((part) => part !== "");
  return `${comments.join("\n")}\n${parts.join("\n\n")}\n`;
}

/** The part of a plan that is no choice of the world. */
export function interruptText({ boundary, action, then, message }: Interruption): string {
  const lines = ["[[plan.interrupt]]", `boundary = ${JSON.stringify(boundary)}`];
  if (action === "message") lines.push('kind = "interrupt"', `text = ${JSON.stringify(message)}`);
  else lines.push('kind = "cancel"');
  lines.push(`then = ${JSON.stringify(then)}`);
  if (action === "cancel+prompt") lines.push("at_once = true");
  return lines.join("\n");
}

/** The scenario that a plan was made for. */
export function scenarioOf(plan: string): string | undefined {
  const found = /^# of (".*")$/m.exec(plan);
  return found?.[1] === undefined ? undefined : JSON.parse(found[1]);
}

/** The seed of the run that a plan is from. */
export function seedOf(plan: string): number | undefined {
  const found = /^# seed (\d+)$/m.exec(plan);
  return found?.[1] === undefined ? undefined : Number(found[1]);
}
