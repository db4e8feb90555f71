// Error messages for users.

export function messageOf(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}
