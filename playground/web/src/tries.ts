// What a reader can try: each has a question, which is asked before it's done, and what to say
// afterwards. Pure: from a state to lines and words. faults.ts has those about the machinery.

import { isInTrouble, newest, ofDeployment, podsOf } from './layout'
import type { Command, Deployment, Pod, State } from './messages'

/** Moment is the world at one time. */
export interface Moment {
  state: State
  count: (what: string) => number // how often mini has listed, and watched: "list Pod", "watch start Pod"
  time: number // the world's ms
}

/** About is what a button is about: a Deployment, and for some a Pod, a node or a number. */
export interface About {
  deployment?: string
  pod?: string
  node?: string
  replicas?: number
  image?: string
}

export interface Question {
  asks: string
  answers: string[]
  right: number
}

/** Try is one button. */
export interface Try {
  id: string
  label: string
  /** lines are what one would type, or say, to do it. They are what's done, too, unless there are commands. */
  lines: (m: Moment, about: About) => string[]
  commands?: (m: Moment, about: About) => Command[]
  /** cannot says why not; '' is that it can be done. */
  cannot: (m: Moment, about: About) => string
  question: (m: Moment, about: About) => Question
  /** over is true as soon as one can see how it has ended. */
  over: (now: Moment, before: Moment, about: About) => boolean
  /** says is what has happened, with the numbers that one sees. */
  says: (now: Moment, before: Moment, about: About) => string
  why: string
}

/** commandsOf are what the cluster is told. */
export const commandsOf = (t: Try, m: Moment, about: About): Command[] =>
  t.commands?.(m, about) ?? t.lines(m, about).map((line) => ({ do: 'kubectl', line }))

export const deploymentOf = (m: Moment, about: About): Deployment | undefined =>
  m.state.deployments.find((d) => d.name === about.deployment)
export const podsNow = (m: Moment, about: About): Pod[] => podsOf({ name: about.deployment ?? '' }, m.state)
export const works = (m: Moment, about: About) => podsNow(m, about).filter((p) => p.ready && !p.going).length
export const settled = (m: Moment, about: About, wanted = deploymentOf(m, about)?.wanted ?? 0) =>
  works(m, about) === wanted && podsNow(m, about).length === wanted
export const pods = (n: number) => `${n} Pod${n === 1 ? '' : 's'}`
export const seconds = (now: Moment, before: Moment) => `${Math.max(1, Math.round((now.time - before.time) / 1000))} s`
export const needsDeployment = (m: Moment, about: About) => {
  const d = deploymentOf(m, about)
  return !d ? 'There is no Deployment: create one first.' : d.going ? `${d.name} is being deleted.` : ''
}
export const needsPods = (m: Moment, about: About) =>
  needsDeployment(m, about) || (works(m, about) > 0 ? '' : 'No Pod works yet: wait for one.')
const rolledOut = (m: Moment, about: About, image: string) =>
  settled(m, about) && podsNow(m, about).every((p) => p.image === image) && deploymentOf(m, about)?.image === image

export const create: Try = {
  id: 'create', label: 'Create web',
  lines: () => ['kubectl create deployment web --image=web:1 --replicas=3'],
  cannot: (m) => (m.state.deployments.some((d) => d.name === 'web') ? 'There is a Deployment web.' : ''),
  question: () => ({
    asks: 'You ask for a Deployment with three Pods. Who creates the Pods?',
    answers: ['The API server', 'The Deployment controller', 'The ReplicaSet controller'], right: 2,
  }),
  over: (m) => settled(m, { deployment: 'web' }, 3),
  says: (now, before) => `${pods(works(now, { deployment: 'web' }))} after ${seconds(now, before)}.`,
  why: 'The API server only stores the Deployment. Its controller creates a ReplicaSet, whose controller creates the Pods, which the scheduler gives to nodes, where kubelets start them.',
}

const scale = (id: string, label: string, question: Try['question'], why: string): Try => ({
  id, label, question, why,
  lines: (_, a) => [`kubectl scale deployment ${a.deployment} --replicas=${a.replicas}`],
  cannot: (m, a) => needsDeployment(m, a) || ((a.replicas ?? -1) < 0 ? 'Fewer than none can’t be.' : ''),
  over: (now, _, a) => deploymentOf(now, a)?.wanted === a.replicas && settled(now, a),
  says: (now, before, a) => `${pods(works(now, a))} after ${seconds(now, before)}.`,
})
const wantedNow = (m: Moment, a: About) => pods(deploymentOf(m, a)?.wanted ?? 0)

export const scaleUp = scale('scale up', 'Scale up', (m, a) => ({
  asks: `${a.deployment} has ${wantedNow(m, a)}, and you want ${a.replicas}. Who creates the new one?`,
  answers: ['The Deployment controller', 'The ReplicaSet controller', 'The scheduler'], right: 1,
}), 'The Deployment controller only changes a number in the ReplicaSet. The ReplicaSet controller counts its Pods, and creates what’s missing.')

export const scaleDown = scale('scale down', 'Scale down', (m, a) => ({
  asks: `${a.deployment} has ${wantedNow(m, a)}, and you want ${a.replicas}. Who decides which Pod goes?`,
  answers: ['The Deployment controller', 'The scheduler, which knows the nodes', 'The ReplicaSet controller'], right: 2,
}), 'The Deployment controller only changes a number in the ReplicaSet, whose controller ranks its Pods: one that isn’t ready goes before one that is. Kubernetes’ own also asks which Pods share a node. mini leaves that out (chapter 21).')

export const setImage: Try = {
  id: 'set image', label: 'New image',
  lines: (_, a) => [`kubectl set image deployment ${a.deployment} '*=${a.image}'`],
  cannot: (m, a) => needsPods(m, a) || (deploymentOf(m, a)?.paused ? 'The rollout is paused: resume it first.' : ''),
  question: (_, a) => ({
    asks: `${a.deployment} gets the image ${a.image}. What becomes of its Pods?`,
    answers: ['They restart, with the new image', 'They all go, and then new ones come', 'New ones take their place, a few at a time'], right: 2,
  }),
  over: (now, _, a) => rolledOut(now, a, a.image ?? ''),
  says: (now, before, a) => `${pods(works(now, a))} with ${a.image} after ${seconds(now, before)}, and none that was there before.`,
  why: 'A Deployment changes no Pod. It makes a ReplicaSet for the new template, and moves the number over: at most a quarter more Pods than you want (rounded up), and at most a quarter fewer available ones (rounded down).',
}

export const breakIt: Try = {
  id: 'break', label: 'Break it',
  lines: (_, a) => [`kubectl set image deployment ${a.deployment} '*=web:bad'`],
  cannot: (m, a) => setImage.cannot(m, a) || (deploymentOf(m, a)?.image === 'web:bad' ? 'It’s broken already: roll it back.' : ''),
  question: (m, a) => ({
    asks: `web:bad crashes as soon as it starts. What becomes of the ${pods(works(m, a))} that work${works(m, a) === 1 ? 's' : ''}?`,
    answers: ['They’re replaced, and nothing works any more', 'They stay, or most of them, and the rollout waits', 'The Deployment notices, and rolls back'], right: 1,
  }),
  over: (now, _, a) => podsNow(now, a).some((p) => p.image === 'web:bad' && /BackOff/.test(p.status)) &&
    podsNow(now, a).every((p) => !p.going && (p.ready || isInTrouble(p))),
  says: (now, before, a) => `${works(now, a)} of ${works(before, a)} still work, and ${pods(podsNow(now, a).filter(isInTrouble).length)} of web:bad can’t.`,
  why: 'At most a quarter may be missing, rounded down: of three Pods none, of four one. After that, an old Pod goes only when a new one is ready, and none ever is. It stays like that: after ten minutes without progress the Deployment says ProgressDeadlineExceeded, and rolls nothing back by itself.',
}

export const rollback: Try = {
  id: 'rollback', label: 'Roll back',
  lines: (_, a) => [`kubectl rollout undo deployment ${a.deployment}`],
  cannot: (m, a) => needsDeployment(m, a) || (deploymentOf(m, a)?.paused ? 'The rollout is paused: resume it first.' : '') ||
    (ofDeployment({ name: a.deployment ?? '' }, m.state).length < 2 ? 'There’s one revision only: change the image first.' : ''),
  question: (m, a) => ({
    asks: `${a.deployment} goes back from ${deploymentOf(m, a)?.image}. Where does the old template come from?`,
    answers: ['The Deployment remembers its versions', 'The old ReplicaSet still has it', 'etcd keeps old versions'], right: 1,
  }),
  over: (now, before, a) => deploymentOf(now, a)?.image !== deploymentOf(before, a)?.image && settled(now, a) &&
    podsNow(now, a).every((p) => p.image === deploymentOf(now, a)?.image),
  says: (now, before, a) => `${pods(works(now, a))} with ${deploymentOf(now, a)?.image} after ${seconds(now, before)}, in the ReplicaSet that was there before. It’s revision ${newest({ name: a.deployment ?? '' }, now.state)?.revision} now.`,
  why: 'A ReplicaSet stays when its last Pod has gone, with the template in it. A roll back copies that into the Deployment, and then it’s a rollout like any other. Pods of the old template that never went needn’t come back.',
}

export const pause: Try = {
  id: 'pause', label: 'Pause rollout',
  lines: (m, a) => [`kubectl rollout pause deployment ${a.deployment}`, `kubectl delete pod ${podsNow(m, a).find((p) => p.ready && !p.going)?.name} --wait=false`],
  cannot: (m, a) => needsPods(m, a) || (deploymentOf(m, a)?.paused ? 'It’s paused: resume it.' : ''),
  question: (_, a) => ({
    asks: `You pause ${a.deployment}, and then a Pod is deleted. Does another one come?`,
    answers: ['No: paused is paused', 'Yes'], right: 1,
  }),
  over: (now, before, a) => deploymentOf(now, a)?.paused === true && fresh(now, before, a).some((p) => p.ready),
  says: (now, before, a) => `${fresh(now, before, a)[0]?.name} has come. Change the image now, and nothing happens until you resume.`,
  why: 'Only the rollout is paused: the Deployment controller leaves templates alone. The ReplicaSet controller knows nothing of that, and keeps its number of Pods.',
}

/** fresh are the Pods that weren't there before. */
const fresh = (now: Moment, before: Moment, a: About) =>
  podsNow(now, a).filter((p) => !before.state.pods.some((other) => other.uid === p.uid))

export const resume: Try = {
  id: 'resume', label: 'Resume rollout',
  lines: (_, a) => [`kubectl rollout resume deployment ${a.deployment}`],
  cannot: (m, a) => needsDeployment(m, a) || (deploymentOf(m, a)?.paused ? '' : 'It isn’t paused.'),
  question: (_, a) => ({
    asks: `You resume ${a.deployment}. If you’ve changed the image twice in the meantime, how many rollouts come?`,
    answers: ['Two, one after the other', 'One'], right: 1,
  }),
  over: (now, _, a) => deploymentOf(now, a)?.paused !== true && rolledOut(now, a, deploymentOf(now, a)?.image ?? ''),
  says: (now, before, a) => newest({ name: a.deployment ?? '' }, now.state)?.uid === newest({ name: a.deployment ?? '' }, before.state)?.uid
    ? 'The image is what it was, so there was nothing to do.'
    : `One rollout, to ${deploymentOf(now, a)?.image}, took ${seconds(now, before)}.`,
  why: 'A controller compares what is there with what you want now. What you wanted in between has left no trace.',
}

export const deletePod: Try = {
  id: 'delete pod', label: 'Delete this Pod',
  lines: (_, a) => [`kubectl delete pod ${a.pod} --wait=false`],
  cannot: (m, a) => {
    const pod = m.state.pods.find((p) => p.name === a.pod)
    return !pod ? 'It’s gone by now.' : pod.going ? 'It’s ending already.' : ''
  },
  question: (_, a) => ({
    asks: `You delete ${a.pod}. When does another one take its place?`,
    answers: ['When it has ended', 'At once, while it’s still ending', 'Never: you’ve deleted it'], right: 1,
  }),
  over: (now, before, a) => !now.state.pods.some((p) => p.name === a.pod) && settledAll(now, before, a),
  says: (now, before, a) => {
    const name = fresh(now, before, a)[0]?.name
    return name ? `${name} has come: a new Pod, with another name, and maybe on another node.` : 'It has gone.'
  },
  why: 'A Pod that is ending no longer counts, so the ReplicaSet controller sees one too few as soon as the Pod has its deletionTimestamp. A StatefulSet would have waited: its Pods keep their names.',
}

const settledAll = (now: Moment, before: Moment, a: About) => !deploymentOf(before, a) || works(now, a) >= works(before, a)

export const cordon: Try = {
  id: 'cordon', label: 'Cordon',
  lines: (_, a) => [`kubectl cordon ${a.node}`],
  cannot: (m, a) => (nodeOf(m, a)?.cordoned ? 'It’s cordoned already.' : ''),
  question: (m, a) => ({
    asks: `${a.node} is cordoned. What becomes of the ${pods(on(m, a).length)} on it?`,
    answers: ['They move to other nodes', 'They stay, and no new ones come'], right: 1,
  }),
  over: (now, _, a) => nodeOf(now, a)?.cordoned === true,
  says: (now, _, a) => `${pods(on(now, a).length)} on it, as before. Scale up, and the new ones go elsewhere.`,
  why: 'Cordon sets spec.unschedulable, which keeps new Pods away and moves none that are there: the scheduler places each Pod once. To empty a node, its Pods have to be evicted: kubectl drain does both.',
}

export const uncordon: Try = {
  id: 'uncordon', label: 'Uncordon',
  lines: (_, a) => [`kubectl uncordon ${a.node}`],
  cannot: (m, a) => (nodeOf(m, a)?.cordoned ? '' : 'It isn’t cordoned.'),
  question: (_, a) => ({
    asks: `${a.node} can be used again. Do Pods move to it, so that all nodes have as many?`,
    answers: ['Yes, after a while', 'No'], right: 1,
  }),
  over: (now, _, a) => nodeOf(now, a)?.cordoned !== true && !now.state.pods.some((p) => !p.node),
  says: (now, _, a) => `${pods(on(now, a).length)} on it. Only Pods that had no node have come.`,
  why: 'No controller moves a Pod that works. The next ones that are created may come here.',
}

export const killNode: Try = {
  id: 'kill node', label: 'Kill',
  lines: (_, a) => [`# pull the plug of ${a.node}`],
  commands: (_, a) => [{ do: 'act', name: 'kill node', args: [a.node ?? ''] }],
  cannot: (m, a) => (nodeOf(m, a)?.dead ? 'It’s dead already.' : ''),
  question: (m, a) => ({
    asks: `You pull the plug of ${a.node}. When do others take the place of its ${pods(on(m, a).length)}? (A real cluster waits five minutes longer; this one doesn’t.)`,
    answers: ['At once', 'After 50 seconds', 'When the node comes back'], right: 1,
  }),
  over: (now, before, a) => nodeOf(now, a)?.ready === false && on(now, a).every((p) => p.going) &&
    now.state.deployments.every((d) => settledElsewhere(now, d, a)) && now.time > before.time,
  says: (now, before, a) => `It took ${seconds(now, before)}. ${on(now, a).length > 0 ? `On ${a.node}, ${pods(on(now, a).length)} can’t end.` : 'It had none.'}`,
  why: 'A dead node says nothing, and so does one behind a slow network. So the node controller waits for 50 s without a sign of life before it evicts the Pods. Their objects stay, because only the kubelet of that node could say that they’ve ended. In a real cluster, each Pod tolerates that for five minutes more, unless you say otherwise.',
}

const nodeOf = (m: Moment, a: About) => m.state.nodes.find((n) => n.name === a.node)
const on = (m: Moment, a: About) => m.state.pods.filter((p) => p.node === a.node)
const settledElsewhere = (m: Moment, d: Deployment, a: About) => d.image === 'web:bad' ||
  podsOf(d, m.state).filter((p) => p.ready && !p.going && p.node !== a.node).length >= d.wanted

export const reviveNode: Try = {
  id: 'revive node', label: 'Plug in',
  lines: (_, a) => [`# plug ${a.node} in again`],
  commands: (_, a) => [{ do: 'act', name: 'revive node', args: [a.node ?? ''] }],
  cannot: (m, a) => (nodeOf(m, a)?.dead ? '' : 'It’s alive.'),
  question: (_, a) => ({
    asks: `${a.node} comes back. What becomes of the Pods that were evicted from it?`,
    answers: ['They work again', 'They end now'], right: 1,
  }),
  over: (now, _, a) => nodeOf(now, a)?.ready === true && !nodeOf(now, a)?.dead && !nodeOf(now, a)?.taints?.length && !on(now, a).some((p) => p.going),
  says: (now, before, a) => `After ${seconds(now, before)} ${a.node} is ready, with ${pods(on(now, a).length)}.`,
  why: 'The kubelet lists its Pods, finds that they were deleted, stops what’s still running, and removes the objects. Others have their places by now.',
}

export const deleteForeground: Try = {
  id: 'delete', label: 'Delete, in the foreground',
  lines: (_, a) => [`kubectl delete deployment ${a.deployment} --cascade=foreground --wait=false`],
  cannot: needsDeployment,
  question: (m, a) => ({
    asks: `${a.deployment}, its ReplicaSets and its ${pods(podsNow(m, a).length)} are deleted, in the foreground. What goes first?`,
    answers: ['The Deployment', 'The ReplicaSets', 'The Pods'], right: 2,
  }),
  over: (now, before, a) => !deploymentOf(now, a) && podsNow(before, a).every((p) => !now.state.pods.some((o) => o.uid === p.uid)),
  says: (now, before) => `All of it has gone after ${seconds(now, before)}: the Pods, then the ReplicaSets, then the Deployment.`,
  why: 'A finalizer, foregroundDeletion, keeps the owner until the garbage collector has seen the last of what it owns go.',
}
