// The prompt without its looks: the lines that were typed, and what Tab does. Pure.

const kept = 200

/** History is what the up and down keys go through. A line that was begun isn't lost. */
export class History {
  private lines: string[] = []
  private at = 0
  private begun = ''

  add(line: string) {
    if (line.trim() && this.lines.at(-1) !== line) this.lines.push(line)
    if (this.lines.length > kept) this.lines.shift()
    this.at = this.lines.length
    this.begun = ''
  }

  /** up returns the line before; current is what stands at the prompt. */
  up(current: string): string {
    if (this.at === this.lines.length) this.begun = current
    this.at = Math.max(0, this.at - 1)
    return this.lines[this.at] ?? current
  }

  down(current: string): string {
    if (this.at >= this.lines.length) return current
    this.at++
    return this.lines[this.at] ?? this.begun
  }
}

/** complete puts what the words have in common in the place of the last word. A single one is complete. */
export function complete(line: string, words: string[]): string {
  const first = words[0]
  if (first === undefined) return line
  const common = words.reduce((a, b) => {
    let n = 0
    while (n < a.length && a[n] === b[n]) n++
    return a.slice(0, n)
  }, first)
  const before = line.slice(0, line.length - (/\S*$/.exec(line)?.[0].length ?? 0))
  const open = /[=/]$/.test(common) // a value, or a name, comes after it
  return before + common + (words.length === 1 && !open ? ' ' : '')
}

/** readsInput is true of a line that reads what stands in the text box. */
export const readsInput = (line: string) => /(^|\s)(-f|--filename)[\s=]?-(\s|$)/.test(line)

const keptText = 40_000

/** shorten forgets the beginning of what was printed, line by line. */
export function shorten(text: string): string {
  if (text.length <= keptText) return text
  return text.slice(text.indexOf('\n', text.length - keptText) + 1)
}
