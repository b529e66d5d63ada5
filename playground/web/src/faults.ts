// The faults a reader can try: of the connection between mini and the API server, and of mini itself.

import type { Command, State } from './messages'
import { type About, deploymentOf, type Moment, needsPods, pods, podsNow, seconds, settled, type Try, works } from './tries'

const disturb = (what: string, resource: string): Command => ({ do: 'act', name: 'disturb', args: [what, resource] })
const kubectl = (line: string): Command => ({ do: 'kubectl', line })
const victim = (m: Moment, a: About) => podsNow(m, a).filter((p) => p.ready && !p.going).at(-1)?.name ?? ''
const deleteLine = (m: Moment, a: About) => `kubectl delete pod ${victim(m, a)} --wait=false`
const scaleLine = (m: Moment, a: About) => `kubectl scale deployment ${a.deployment} --replicas=${wanted(m, a) + 1}`
const wanted = (m: Moment, a: About) => deploymentOf(m, a)?.wanted ?? 0
const leader = (s: State) => s.processes.find((p) => p.leads)
const isHeld = (m: Moment) => leader(m.state)?.held.includes('pods') === true
const steady = (m: Moment, a: About) => needsPods(m, a) ||
  (!leader(m.state) ? 'No process leads: start one.' : isHeld(m) ? 'The watch is held: let it go on first.' : settled(m, a) ? '' : 'Wait until all Pods are there, so that you can see what changes.')
const grew = (now: Moment, before: Moment, what: string) => now.count(what) > before.count(what)

export const holdWatch: Try = {
  id: 'hold watch', label: 'Hold the watch',
  lines: (m, a) => ['# mini’s watch of Pods delivers nothing any more', deleteLine(m, a)],
  commands: (m, a) => [disturb('hold watch', 'pods'), kubectl(deleteLine(m, a))],
  cannot: steady,
  question: () => ({
    asks: 'The watch of Pods is open, but nothing comes any more. Then a Pod is deleted. What does its controller do?',
    answers: ['It creates another one', 'Nothing', 'It fails, and backs off'], right: 1,
  }),
  over: (now, before, a) => isHeld(now) && podsNow(now, a).length < podsNow(before, a).length && now.time > before.time + 8000,
  says: (now, _, a) => `${pods(podsNow(now, a).length)} of ${wanted(now, a)}, and the controller believes in ${wanted(now, a)}. Its cache has the last word that came.`,
  why: 'A controller reads its cache, and only a watch changes that. A watch that says nothing looks like a quiet day. So clients ask the server to end each watch after some minutes, and mini distrusts one that’s silent for long, without even a bookmark.',
}

export const releaseWatch: Try = {
  id: 'release watch', label: 'Let it go on',
  lines: () => ['# the watch of Pods delivers again'],
  commands: () => [disturb('release watch', 'pods')],
  cannot: (m) => (isHeld(m) ? '' : 'The watch isn’t held.'),
  question: () => ({
    asks: 'The watch of Pods goes on. What was missed in the meantime?',
    answers: ['Nothing: it comes late', 'All that has happened: a new list is needed'], right: 0,
  }),
  over: (now, _, a) => !isHeld(now) && settled(now, a),
  says: (now, before, a) => `The events came late, and ${pods(works(now, a))} are there ${seconds(now, before)} later. ${grew(now, before, 'list Pod') ? 'mini has listed, too.' : 'Nothing was listed.'}`,
  why: 'Events of a watch come in order, and none is left out. Late is no problem for a controller that looks at what is there now, and asks for no more.',
}

export const cutWatch: Try = {
  id: 'cut watch', label: 'Cut the watch',
  lines: () => ['# the connection of mini’s watch of Pods breaks'],
  commands: () => [disturb('drop watch', 'pods')],
  cannot: steady,
  question: () => ({
    asks: 'The connection on which mini watches Pods breaks. How does it go on?',
    answers: ['It lists all Pods, and watches again', 'It watches from where it was, and lists nothing', 'Its cache is empty, so it creates all Pods again'], right: 1,
  }),
  over: (now, before) => grew(now, before, 'watch start Pod'),
  says: (now, before) => `It watches again${grew(now, before, 'list Pod') ? ', after a list' : ', and has listed nothing'}. No Pod has changed.`,
  why: 'Each event carries a resourceVersion. The reflector knows the last one, and asks the API server for what came after it.',
}

export const expireWatch: Try = {
  id: 'expire watch', label: '410 Gone',
  lines: () => ['# the watch of Pods breaks, and the server has forgotten where it was'],
  commands: () => [disturb('expire watch', 'pods')],
  cannot: steady,
  question: () => ({
    asks: 'The watch breaks, and the API server no longer knows what came after that version: 410 Gone. And now?',
    answers: ['It lists all Pods, and compares them with its cache', 'It empties its cache, and all Pods are created again', 'It tries the old version until it works'], right: 0,
  }),
  over: (now, before) => grew(now, before, 'list Pod') && grew(now, before, 'watch start Pod'),
  says: (now, before, a) => `mini has listed ${now.count('list Pod') - before.count('list Pod') === 1 ? 'once' : 'again'}, and watches from there. ${pods(podsNow(now, a).length)}, the same as before.`,
  why: 'etcd keeps history for some minutes. Who has slept longer needs a list, which says what is there, but not what has happened: the reflector compares it with its cache, so a Pod that’s missing in it counts as deleted.',
}

export const loseAnswer: Try = {
  id: 'lose an answer', label: 'Lose an answer',
  lines: (m, a) => ['# mini’s next write arrives, and its answer gets lost', scaleLine(m, a)],
  commands: (m, a) => [disturb('lose an answer', ''), kubectl(scaleLine(m, a))],
  cannot: steady,
  question: (m, a) => ({
    asks: `The API server does what mini writes next, but mini never gets the answer. You scale from ${wanted(m, a)} to ${wanted(m, a) + 1}. How many Pods come of it?`,
    answers: [`${wanted(m, a)}: the write was lost`, `${wanted(m, a) + 1}`, `${wanted(m, a) + 2}: it writes twice`], right: 1,
  }),
  over: (now, before, a) => wanted(now, a) === wanted(before, a) + 1 && settled(now, a),
  says: (now, before, a) => `${pods(works(now, a))} after ${seconds(now, before)}.`,
  why: 'The reconcile fails, and is called again after a back-off. It doesn’t repeat the write: it looks at its cache, and as soon as its watch has brought what it wrote, nothing is left to do. Until then it might write twice, which is why a ReplicaSet’s name comes from its template.',
}

const alive = (m: Moment) => m.state.processes.filter((p) => p.alive).length

export const twoReplicas: Try = {
  id: 'two replicas', label: 'Two processes',
  lines: () => ['# start over, with two processes of mini and a lease', 'kubectl create deployment web --image=web:1 --replicas=3'],
  commands: () => [{ do: 'start', replicas: 2 }, kubectl('kubectl create deployment web --image=web:1 --replicas=3')],
  cannot: (m) => (m.state.processes.length > 1 ? 'There are two: kill the one that leads.' : ''),
  question: () => ({
    asks: 'A new cluster, in which two processes run the same controllers. Who creates the three Pods?',
    answers: ['Both: there are six', 'Each a part of them', 'The one that holds the lease'], right: 2,
  }),
  over: (now) => now.state.processes.length === 2 && settled(now, { deployment: 'web' }, 3) && leader(now.state) !== undefined,
  says: (now) => `${pods(works(now, { deployment: 'web' }))}, all created by ${leader(now.state)?.name}. The other one waits.`,
  why: 'The lease is an object like any other: whoever writes its name into it first leads, because the second write conflicts. The leader renews it every two seconds.',
}

export const killLeader: Try = {
  id: 'kill leader', label: 'Kill the leader',
  lines: (m, a) => [`# kill -9 ${leader(m.state)?.name}`, scaleLine(m, a)],
  commands: (m, a) => [{ do: 'act', name: 'kill leader' }, kubectl(scaleLine(m, a))],
  cannot: (m, a) => (m.state.processes.length < 2 ? 'Start two processes first, so that one can take over.'
    : alive(m) < 2 ? 'There’s one left: start another one.' : steady(m, a)),
  question: (m, a) => ({
    asks: `${leader(m.state)?.name} dies without a word, and you scale to ${wanted(m, a) + 1}. When does the new Pod come?`,
    answers: ['At once: the other one takes over', 'After some 15 seconds', 'Never'], right: 1,
  }),
  over: (now, before, a) => wanted(now, a) === wanted(before, a) + 1 && settled(now, a) && leader(now.state)?.name !== leader(before.state)?.name,
  says: (now, before, a) => `${leader(now.state)?.name} leads, and ${pods(works(now, a))} are there after ${seconds(now, before)}.`,
  why: 'A dead leader can’t release its lease, and nobody can tell it from a slow one. So the other process waits until the lease has expired, 15 s after the last time it was renewed.',
}

export const startProcess: Try = {
  id: 'start process', label: 'Start another',
  lines: () => ['# start one more process of mini'],
  commands: () => [{ do: 'act', name: 'start process' }],
  cannot: (m) => (alive(m) > 1 ? 'Two are enough.' : alive(m) === 1 && m.state.processes.length === 1 ? 'Without a lease there’s room for one.' : ''),
  question: (m) => ({
    asks: `One more process starts, while ${leader(m.state)?.name ?? 'none'} leads. Who leads now?`,
    answers: ['The new one', 'The same as before'], right: 1,
  }),
  over: (now, before) => alive(now) > alive(before) && leader(now.state) !== undefined,
  says: (now) => `${leader(now.state)?.name} leads. The new one waits for the lease.`,
  why: 'Its caches fill all the same, so that it can begin at once when its turn comes.',
}
