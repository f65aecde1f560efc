/** The name by which tools refer to a secret in the vault. */
export const secretNamePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

export const isSecretName = (name: unknown): name is string => typeof name === 'string' && secretNamePattern.test(name);
