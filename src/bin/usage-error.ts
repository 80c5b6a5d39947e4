// The caller's mistake on the command line: the message is shown with the usage, no stack.

export class UsageError extends Error {}
