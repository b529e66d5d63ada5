// The search field: it suggests what there is while one types.

import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { find, meant, nearest } from './find'
import type { Machine } from './machine'
import { type Chosen, titleOf } from './story'

interface Props {
  machine: Machine
  chosen: Chosen | undefined
  choose: (c: Chosen | undefined) => void
}

export function Search({ machine, chosen, choose }: Props) {
  const field = useRef<HTMLInputElement>(null)
  const [typed, type] = useState<string>() // undefined: nobody is typing
  const [marked, mark] = useState(-1)
  const [missed, miss] = useState(false) // Enter has found nothing
  // A click elsewhere chooses, too. Not later than the picture: it would write over what is typed next.
  useLayoutEffect(() => { field.current!.value = chosen ? titleOf(chosen) : '' }, [chosen])
  const all = typed === undefined ? [] : find(machine, typed)
  const near = missed && typed !== undefined && all.length === 0 ? nearest(machine, typed) : []
  const offered = all.length > 0 ? all : near
  const close = () => { type(undefined); mark(-1); miss(false) }
  const take = (c: Chosen) => { close(); choose({ ...c }) }
  const press = (e: KeyboardEvent) => {
    if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
      if (offered.length === 0) return
      mark((marked + (e.key === 'ArrowDown' ? 1 : offered.length + (marked < 0 ? 1 : 0) - 1)) % offered.length)
      e.preventDefault()
    } else if (e.key === 'Escape') {
      e.preventDefault()
      if (typed !== undefined) {
        close()
        field.current!.value = chosen ? titleOf(chosen) : ''
      } else {
        choose(undefined)
        field.current!.blur()
      }
    }
  }
  const submit = (e: SubmitEvent) => {
    e.preventDefault()
    const text = field.current!.value.trim()
    const what = offered[marked]?.chosen ?? (text ? meant(machine, text) : undefined)
    if (what) return take(what)
    type(text || undefined)
    miss(text !== '')
  }
  return <form role="search" onSubmit={submit}>
    <input ref={field} name="object" type="search" role="combobox" autocomplete="off" placeholder="Find an object: web, Pod web-1, shop/web" aria-label="Object"
      aria-expanded={offered.length > 0} aria-controls="found" aria-autocomplete="list" aria-activedescendant={marked >= 0 ? `found-${marked}` : undefined}
      onInput={(e) => { type(e.currentTarget.value); mark(-1); miss(false) }} onKeyDown={press} onBlur={close} />
    {missed && all.length === 0 && <p class="missed" role="status">
      X-ray knows no object like <b>{typed}</b>: {near.length > 0 ? 'is it one of these?' : 'it isn’t there, or nothing has happened to it since the recorder can remember.'}
    </p>}
    <ul id="found" role="listbox" aria-label="Objects">
      {offered.map((f, i) => <li key={f.title} id={`found-${i}`} role="option" aria-selected={i === marked}
        onMouseDown={(e) => { e.preventDefault(); take(f.chosen) }}>{f.title}{f.gone && <span> deleted</span>}</li>)}
    </ul>
  </form>
}
