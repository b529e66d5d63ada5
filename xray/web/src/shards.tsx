// Which replica has which namespaces, if several share the work.

import { clock, plural } from './event'
import type { Machine, Shard } from './machine'
import type { Chosen } from './story'

const shown = 24 // of one replica; those that have moved last come first

export function Shards({ machine, choose }: { machine: Machine; choose: (c: Chosen) => void }) {
  const replicas = new Map<string, [string, Shard][]>()
  for (const entry of machine.shards) replicas.set(entry[1].holder, [...replicas.get(entry[1].holder) ?? [], entry])
  return <>{[...replicas].sort(([a], [b]) => a.localeCompare(b)).map(([holder, has]) => {
    const name = holder || 'nobody'
    const here = has.some(([, shard]) => shard.here === 'begins')
    const moves = new Map<string, [string, Shard][]>() // those that came together
    const latest = has.sort((a, b) => b[1].at - a[1].at || a[0].localeCompare(b[0], 'en', { numeric: true }))
    for (const entry of latest.slice(0, shown)) moves.set(clock(entry[1].at), [...moves.get(clock(entry[1].at)) ?? [], entry])
    return <article key={name} class="lease" aria-label={`Shard of ${name}`}>
      <h3>{name}{here && <span class="quiet"> this replica</span>}</h3>
      <p>{plural(has.length, 'namespace')}</p>
      {[...moves].map(([at, came]) => <p key={at}>since {at}: {came.map(([namespace, shard], i) => <span key={namespace}>
        {i > 0 && ', '}<button class="link" onClick={() => choose({ kinds: ['Namespace'], name: namespace })}>{namespace}</button>
        {shard.here === 'stops' && ' (stopping)'}</span>)}</p>)}
      {has.length > shown && <p>and {has.length - shown} more</p>}
    </article>
  })}</>
}
