import { render } from 'preact';
import { DemoBar } from './demo-bar.tsx';

render(<DemoBar />, document.getElementById('demo') as HTMLElement);
