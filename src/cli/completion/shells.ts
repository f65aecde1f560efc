export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** The startup file of each shell, and the line to put there. */
export const startups: Readonly<Record<Shell, { readonly file: string; readonly line: string }>> = {
  bash: { file: '~/.bashrc', line: 'eval "$(perdure completion bash)"' },
  zsh: { file: '~/.zshrc, after compinit', line: 'eval "$(perdure completion zsh)"' },
  fish: { file: '~/.config/fish/config.fish', line: 'perdure completion fish | source' },
};
