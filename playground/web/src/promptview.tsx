// The prompt: lines of kubectl, and what they print. Tab completes, the arrows go through what was
// typed, and Ctrl-C ends a line that watches.

import { useEffect, useRef, useState } from 'preact/hooks'
import type { Begun, Cluster } from './cluster'
import { complete, History, readsInput } from './prompt'

const sample = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: api
spec:
  replicas: 2
  selector:
    matchLabels: {app: api}
  template:
    metadata:
      labels: {app: api}
    spec:
      containers:
      - {name: api, image: "api:1"}
`

interface Props { cluster: Cluster; log: string; print: (text: string) => void }

export function PromptView({ cluster, log, print }: Props) {
  const [line, setLine] = useState('')
  const newest = useRef('') // of the lines: keys come faster than pictures
  const completing = useRef<Promise<void>>(Promise.resolve())
  const type = (line: string) => { newest.current = line; setLine(line) }
  const [file, edit] = useState(sample)
  const [words, offer] = useState<string[]>([])
  const [running, run] = useState<Begun>()
  const history = useRef(new History())
  const screen = useRef<HTMLPreElement>(null)
  useEffect(() => { screen.current?.scrollTo(0, screen.current.scrollHeight) }, [log])

  const enter = async () => {
    await completing.current
    const line = newest.current
    if (running || !line.trim()) return
    history.current.add(line)
    print(`$ ${line}\n`)
    type('')
    offer([])
    const begun = cluster.begin({ do: 'kubectl', line, ...(readsInput(line) ? { input: file } : {}) }, print)
    run(begun)
    await begun.done.catch((e: Error) => print(`${e.message.trimEnd()}\n`))
    run(undefined)
  }
  const stop = () => {
    if (running) running.cancel()
    print(running ? '^C\n' : `$ ${line}^C\n`)
    type('')
  }
  const press = (e: KeyboardEvent) => {
    const line = newest.current
    const copies = (e.currentTarget as HTMLInputElement).selectionStart !== (e.currentTarget as HTMLInputElement).selectionEnd
    if (e.key === 'Tab' && line && !e.shiftKey) {
      e.preventDefault()
      completing.current = cluster.complete(line).catch(() => []).then((found: string[]) => {
        if (newest.current !== line) return // the reader has typed on
        type(complete(line, found))
        offer(found.length > 1 ? found : [])
      })
    } else if (e.key === 'ArrowUp' || e.key === 'ArrowDown') {
      e.preventDefault()
      type(e.key === 'ArrowUp' ? history.current.up(line) : history.current.down(line))
    } else if (e.key === 'c' && e.ctrlKey && !copies) {
      e.preventDefault()
      stop()
    }
  }
  return <section class="prompt" aria-label="kubectl">
    <pre ref={screen} tabIndex={0} role="log" aria-label="What kubectl has printed">{log}</pre>
    {words.length > 0 && <p class="words">{words.slice(0, 40).join('  ')}</p>}
    {readsInput(line) && <textarea aria-label="What -f - reads" rows={8} spellcheck={false} value={file} onInput={(e) => edit(e.currentTarget.value)} />}
    <form onSubmit={(e) => { e.preventDefault(); void enter() }}>
      <span aria-hidden="true">$</span>
      <input value={line} aria-label="A line of kubectl" placeholder={running ? 'Ctrl-C ends it' : 'kubectl get pods -o wide; Tab completes'}
        autocomplete="off" autocapitalize="off" spellcheck={false} onInput={(e) => { type(e.currentTarget.value); offer([]) }} onKeyDown={press} />
      {running ? <button type="button" onClick={stop}>Ctrl-C</button> : <button>Enter</button>}
    </form>
  </section>
}
