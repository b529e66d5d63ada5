import { render } from 'preact'
import { App } from './app'
import { Player } from './player'
import './style.css'

const player = new Player()
render(<App player={player} />, document.getElementById('app')!)

// Served by a program, the page shows it. With ?recording=FILE it shows a file beside it.
const recording = new URLSearchParams(location.search).get('recording')
if (recording) {
  fetch(recording)
    .then((answer) => answer.ok ? answer.text() : Promise.reject(new Error(answer.statusText)))
    .then((text) => player.open(text, recording.split('/').pop()!))
    .catch((e: Error) => { player.error = `${recording} cannot be read: ${e.message}.` })
} else if (location.protocol !== 'file:') {
  player.connect('events')
}
