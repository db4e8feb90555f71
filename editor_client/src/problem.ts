// What was thrown, for somebody to read.

export function messageOf(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}
