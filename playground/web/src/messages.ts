// What a page says to the cluster, and what it hears: the messages of playground/bridge, and the
// objects in them, which are those of playground/world.

/** Command is what a page sends; package bridge says what each does. */
export type Command =
  | { do: 'start'; seed?: number; replicas?: number; events?: number }
  | { do: 'act'; name: string; args?: string[] }
  | { do: 'kubectl'; line: string; input?: string }
  | { do: 'complete'; line: string }
  | { do: 'chapter'; name: string }
  | { do: 'press'; of: number; name: string; args: [resource: string] }
  | { do: 'cancel'; of: number }

/** Heard is what a page hears. What a command prints goes to whoever sent it, too. */
export type Heard =
  | { is: 'state'; state: State }
  | { is: 'events'; from: string; lines: string }
  | { is: 'lost'; from: string; count: number }
  | { is: 'output'; id: number; text: string }
  | { is: 'words'; id: number; words: string[] }
  | { is: 'watches'; id: number; watched?: string[]; held?: string[] } // of a chapter's program
  | { is: 'done'; id: number; error?: string }
  | { is: 'clock' } // it runs at another speed now
  | { is: 'ended'; error: string } // the program is over, which it never should be

export interface State {
  deployments: Deployment[]
  replicaSets: ReplicaSet[]
  pods: Pod[]
  nodes: Node[]
  processes: Process[]
}

export interface Named {
  name: string
  uid: string
  going?: boolean // it has a deletionTimestamp
}

export interface Deployment extends Named {
  wanted: number
  pods: number
  updated: number
  available: number
  image: string
  paused?: boolean
  observed: boolean // the numbers are about the newest spec
  conditions: { type: string; reason: string }[]
}

export interface ReplicaSet extends Named {
  owner?: string
  revision?: number
  image: string
  wanted: number
  pods: number
  ready: number
}

export interface Pod extends Named {
  owner?: string
  node?: string
  image: string
  status: string // as kubectl prints it
  ready: boolean
  restarts?: number
}

export interface Node {
  name: string
  ready: boolean // as the cluster believes
  dead?: boolean
  cordoned?: boolean
  taints?: string[]
}

export interface Process {
  name: string
  alive: boolean
  leads: boolean
  watched: string[] // resources whose watches can be disturbed
  held: string[]
}
