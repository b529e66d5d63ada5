// <loop-cluster>: a cluster that runs in the page. Nothing is loaded until somebody starts it, or the
// page calls start(). What's between its tags stays until then, and where it can't run.
//
//   <loop-cluster><img src="cluster.svg" alt="..."></loop-cluster>
//   <loop-cluster small>      with fewer buttons, for a page about something else
//   <loop-cluster start>      which starts at once
//   <loop-cluster data-base="../playground/">   where the program is, if not beside this script

import { render } from 'preact'
import { baseOf } from './base'
import { Cluster } from './cluster'
import { ClusterView } from './clusterview'

export class LoopCluster extends HTMLElement {
  cluster: Cluster | undefined
  private root: HTMLElement | undefined
  private starting = false
  private problem = ''
  private pausedAt = 0 // the speed that it had when the page was hidden; 0 is none

  connectedCallback() {
    if (this.root) return document.addEventListener('visibilitychange', this.hide) // it was moved
    const shadow = this.attachShadow({ mode: 'open' })
    const sheet = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: `${baseOf(this)}playground.css` })
    this.root = document.createElement('div')
    shadow.append(sheet, this.root)
    document.addEventListener('visibilitychange', this.hide)
    this.draw()
    if (this.hasAttribute('start')) void this.start()
  }

  disconnectedCallback() {
    document.removeEventListener('visibilitychange', this.hide)
    queueMicrotask(() => { // an element that is moved comes back at once
      if (this.isConnected) return document.addEventListener('visibilitychange', this.hide)
      this.cluster?.close()
      this.cluster = undefined
      if (this.root) this.draw()
    })
  }

  /** start loads the program, and shows a cluster. What goes wrong stands in the page. */
  async start() {
    if (this.cluster || this.starting) return
    this.starting = true
    this.problem = ''
    this.draw()
    try {
      const cluster = await Cluster.load(baseOf(this))
      if (this.isConnected) this.cluster = cluster
      else cluster.close() // the reader has gone on to another page
    } catch (e) {
      this.problem = (e as Error).message
    }
    this.starting = false
    this.draw()
  }

  /** Nobody sees a page that is hidden, so its time stands still. */
  private hide = () => {
    const clock = this.cluster?.clock
    if (!clock) return
    if (document.hidden && Number.isFinite(clock.speed)) {
      this.pausedAt = clock.speed
      clock.pause()
    } else if (!document.hidden && this.pausedAt > 0) {
      clock.run(this.pausedAt)
      this.pausedAt = 0
    }
  }

  private draw() {
    if (this.cluster) return render(<ClusterView cluster={this.cluster} small={this.hasAttribute('small')} />, this.root!)
    render(<div class="before">
      <slot />
      {this.problem && <p class="problem" role="alert">{this.problem}</p>}
      <p><button class="begin" disabled={this.starting} onClick={() => void this.start()}>{this.starting ? `Loading ${SIZE} …` : 'Start the cluster'}</button> It runs in this page, on nothing but your browser.</p>
    </div>, this.root!)
  }
}
customElements.define('loop-cluster', LoopCluster)
