// The top of the page: which program, which object, which moment.

import { useRef } from 'preact/hooks'
import { clock, key, plural } from './event'
import type { Player } from './player'
import { Search } from './search'
import type { Chosen } from './story'

export function Header({ player, chosen, choose }: { player: Player; chosen: Chosen | undefined; choose: (c: Chosen | undefined) => void }) {
  const file = useRef<HTMLInputElement>(null)
  const last = player.machine.last
  const state = player.source === 'none' ? '' : player.source === 'file' ? 'recording'
    : !player.connected ? 'not connected: trying again' : player.paused ? 'the past' : 'live'
  return <header>
    <h1>X-ray</h1>
    <p class="program"><b>{player.program}</b> <span class={`state ${player.connected ? 'on' : ''}`} role="status">{state}</span></p>
    <Search machine={player.machine} chosen={chosen} choose={choose} />
    <div class="controls">
      {player.source !== 'none' && <>
        <button onClick={() => player.seek(player.played - 1)} aria-label="One event back" title="one event back (left arrow)">◂</button>
        <button class="play" onClick={() => player.paused ? player.resume() : player.pause()} title="P">
          {player.paused ? (player.source === 'live' ? 'Live' : 'Play') : 'Pause'}
        </button>
        <button onClick={() => player.seek(player.played + 1)} aria-label="One event on" title="one event on (right arrow)">▸</button>
        <input type="range" min={0} max={player.events.length} value={player.played} aria-label="Time"
          aria-valuetext={last ? `${clock(last.at)}, event ${last.seq}` : 'the beginning'}
          onInput={(e) => player.seek(Number(e.currentTarget.value))} />
        <output>{last ? clock(player.now) : ''}</output>
        {player.source === 'file' && <select aria-label="Speed" value={String(player.speed)} onChange={(e) => { player.speed = Number(e.currentTarget.value) }}>
          {[0.01, 0.1, 0.5, 1, 4].map((s) => <option key={s} value={String(s)}>× {s}</option>)}
        </select>}
      </>}
      {player.source === 'live' && <a class="button" href="recording" download>Save</a>}
      <button onClick={() => file.current?.click()}>Open</button>
      <input ref={file} type="file" accept=".jsonl,.json" hidden aria-label="Recording" onChange={(e) => {
        const opened = e.currentTarget.files?.[0]
        if (opened) void opened.text().then((text) => player.open(text, opened.name))
        e.currentTarget.value = ''
      }} />
    </div>
    {player.paused && last && <p class="event">Event {last.seq}: {last.layer} <b>{last.kind}</b> {last.object} {key(last.namespace, last.name)} <span>{last.text}</span></p>}
    {player.lost > 0 && <p class="note">{plural(player.lost, 'event')} came too fast and {player.lost === 1 ? 'is' : 'are'} missing.</p>}
  </header>
}
