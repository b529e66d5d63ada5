// What a page of one's own needs: a player that is fed, and the page or one of its parts.
//
//   const player = new Player()
//   render(h(App, { player }), element)
//   player.feed('playground', lines)

export { App } from './app'
export { Machine } from './machine'
export { Picture } from './picture'
export { Player } from './player'
export { story } from './story'
export { StoryView } from './storyview'
export { reports, troubles } from './troubles'
